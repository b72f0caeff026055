use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};

use super::Report;
use crate::{
    client::{Api, Client},
    operator::OperatorError,
};

/// The duration of a Lease that does not say it: the default of client-go and of this framework.
const DURATION: Duration = Duration::from_secs(15);
/// The longest time to watch a Lease.
const LONGEST_WATCH: Duration = Duration::from_secs(60);
/// The time between two looks at a Lease.
const LOOK: Duration = Duration::from_secs(1);

/// Whether a process holds a Lease.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LeaseHolder {
    /// There is no such Lease.
    NoLease,
    /// Nobody holds it, or its holder does not renew it any more.
    Nobody,
    /// This process renews it.
    Process(String),
}

/// Finds out whether a process renews the Lease, by watching it for its duration. The time of the last renewal is not enough: a process that was just
/// stopped may not have released the Lease, and the clock of this machine may be ahead.
pub(super) async fn lease_holder(
    client: &Client,
    namespace: &str,
    name: &str,
    report: &mut Report<'_>,
) -> Result<LeaseHolder, OperatorError> {
    let leases = Api::<Lease>::namespaced(client, namespace);
    let Some(lease) = leases.get_opt(name).await? else {
        return Ok(LeaseHolder::NoLease);
    };
    let seen = lease.spec.unwrap_or_default();
    let Some(holder) = holder(&seen) else {
        return Ok(LeaseHolder::Nobody);
    };
    let seconds = seen.lease_duration_seconds.map(i64::from);
    let duration = seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let duration = duration.map_or(DURATION, Duration::from_secs);
    let now = client.clock().now();
    let is_fresh = seen.renew_time.as_ref().is_some_and(|renewed| {
        let age = now.duration_since(renewed.0);
        Duration::try_from(age).map_or(true, |age| age <= duration)
    });
    // Its holder may renew it later than anybody wants to wait.
    if is_fresh && duration > LONGEST_WATCH {
        return Ok(LeaseHolder::Process(holder));
    }
    let watch = duration.min(LONGEST_WATCH);
    report.line(format!(
        "{holder} has not released the Lease {namespace}/{name}: watching for {watch:?} whether it renews it …"
    ))?;
    let mut watched = Duration::ZERO;
    while watched < watch {
        tokio::time::sleep(LOOK).await;
        watched += LOOK;
        let now = leases.get_opt(name).await?;
        let Some(now) = now.and_then(|lease| lease.spec) else {
            return Ok(LeaseHolder::Nobody);
        };
        if now != seen {
            return Ok(self::holder(&now).map_or(LeaseHolder::Nobody, LeaseHolder::Process));
        }
    }
    Ok(LeaseHolder::Nobody)
}

fn holder(lease: &LeaseSpec) -> Option<String> {
    let holder = lease.holder_identity.clone();
    holder.filter(|holder| !holder.is_empty())
}
