//! Makes the ranges of the addresses of Services ready, and keeps those that are being deleted as long as Services have addresses of them, as the
//! service-cidr-controller does.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::feed::{Feed, FeedEvent};
use crate::api::{Handle, MANAGED_ADDRESS, Range, addresses, service_ranges};
use crate::core::Core;
use crate::meta;

const FINALIZER: &str = "networking.k8s.io/service-cidr-finalizer";
/// How long a range stays after its deletion has begun: all servers have to learn that they may take no more addresses of it.
const GRACE: Duration = Duration::from_secs(10);

/// Works until the future is dropped.
pub(crate) async fn follow(core: Arc<Core>) {
    let handle = Handle::new(&core, "service-cidr-controller");
    let kinds = vec![service_ranges(), addresses()];
    let mut feed = Feed::new(&handle, Some(kinds));
    let clock = &core.clock;
    let mut due = None;
    loop {
        let wake = async {
            match due {
                Some(due) => clock.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        // Each branch may be cancelled: the feed loses nothing, and the time is an absolute one.
        let events = tokio::select! {
            events = feed.next() => events,
            () = wake => Vec::new(),
        };
        let is_reason = |event: &FeedEvent| match event {
            FeedEvent::Put { resource, .. } => *resource == service_ranges(),
            FeedEvent::Gone { .. } => true,
            FeedEvent::Kinds => false,
        };
        if !events.is_empty() && !events.iter().any(is_reason) {
            continue;
        }
        // Taken first: the clock may be moved meanwhile, and then the next look comes early, never late.
        let now = clock.moment();
        let ranges = handle.list(&service_ranges(), None);
        let waits = ranges
            .iter()
            .filter_map(|range| sync(&handle, range, &ranges));
        due = waits.min().map(|wait| now.saturating_add(wait));
    }
}

/// Returns the time until the next step.
fn sync(handle: &Handle, range: &Value, all: &[Arc<Value>]) -> Option<Duration> {
    let is_held = meta::finalizers(range).contains(&FINALIZER);
    if !meta::is_deleting(range) {
        if !is_held {
            change(handle, range, "", |range| {
                let mut finalizers: Vec<String> = meta::finalizers(range)
                    .into_iter()
                    .map(String::from)
                    .collect();
                finalizers.push(FINALIZER.to_owned());
                meta::set_finalizers(range, finalizers);
            });
        }
        report(
            handle,
            range,
            "True",
            "",
            "Kubernetes Service CIDR is ready",
        );
        return None;
    }
    if !is_held {
        return None;
    }
    if is_used(handle, range, all) {
        let text = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR";
        report(handle, range, "False", "Terminating", text);
        return None;
    }
    let since = meta::text(range, "deletionTimestamp").parse().ok();
    let age = since
        .and_then(|since| Duration::try_from(handle.core().clock.now().duration_since(since)).ok());
    let rest = GRACE.saturating_sub(age.unwrap_or_default());
    if !rest.is_zero() {
        return Some(rest);
    }
    change(handle, range, "", |range| {
        let rest = meta::finalizers(range)
            .into_iter()
            .filter(|name| *name != FINALIZER);
        let rest = rest.map(String::from).collect();
        meta::set_finalizers(range, rest);
    });
    None
}

/// Whether a Service has an address that no other range contains.
fn is_used(handle: &Handle, range: &Value, all: &[Arc<Value>]) -> bool {
    let others = all
        .iter()
        .filter(|other| meta::uid(other) != meta::uid(range));
    let others: Vec<Range> = others.flat_map(|other| Range::of(other)).collect();
    let own: Vec<Range> = Range::of(range).collect();
    let is_in = |ranges: &[Range], address| ranges.iter().any(|range| range.contains(address));
    let (label, value) = MANAGED_ADDRESS;
    handle.list(&addresses(), None).iter().any(|address| {
        let is_managed = address["metadata"]["labels"][label] == value;
        let address: Option<Ipv4Addr> = meta::name(address).parse().ok();
        let only_here = |address| is_in(&own, address) && !is_in(&others, address);
        is_managed && address.is_some_and(only_here)
    })
}

/// Sets the condition of a range.
fn report(handle: &Handle, range: &Value, status: &str, reason: &str, message: &str) {
    let conditions = range["status"]["conditions"].as_array();
    let ready = conditions
        .into_iter()
        .flatten()
        .find(|one| one["type"] == "Ready");
    let is_told = ready.is_some_and(|one| {
        one["status"] == status && one["reason"] == reason && one["message"] == message
    });
    if is_told {
        return;
    }
    let ready = json!({
        "type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": handle.core().clock.timestamp(),
    });
    change(handle, range, "status", |range| {
        let mut conditions = range["status"]["conditions"].take();
        let others = conditions
            .as_array_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        let others = others.into_iter().filter(|one| one["type"] != "Ready");
        range["status"]["conditions"] = others.chain([ready.clone()]).collect();
    });
}

fn change(handle: &Handle, range: &Value, subresource: &str, mut change: impl FnMut(&mut Value)) {
    let (uid, name) = (meta::uid(range), meta::name(range));
    let changed = handle.update(&service_ranges(), None, name, subresource, |object| {
        // Another object may have the name by now.
        if meta::uid(object) == uid {
            change(object);
        }
    });
    if let Err(error) = changed {
        tracing::debug!(%name, %error, "cannot change a range of the addresses of Services");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sandbox;
    use crate::api::DeleteOptions;
    use crate::registry::GroupResource;

    fn world() -> (Sandbox, Handle) {
        let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        (sandbox, handle)
    }

    async fn pass(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    fn range(handle: &Handle) -> Option<Value> {
        let range = handle.get(&service_ranges(), None, "more")?;
        Some(Value::clone(&range))
    }

    fn create(handle: &Handle) {
        let range = json!({"metadata": {"name": "more"}, "spec": {"cidrs": ["10.200.0.0/28"]}});
        handle.create(&service_ranges(), range).unwrap();
    }

    fn service(handle: &Handle, address: &str) -> Result<(), String> {
        let service = json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"clusterIP": address, "ports": [{"port": 80}]},
        });
        let created = handle.create(&GroupResource::new("", "services"), service);
        created.map(drop).map_err(|error| error.message)
    }

    #[tokio::test(start_paused = true)]
    async fn services_get_addresses_of_a_range_that_is_ready() {
        let (_sandbox, handle) = world();
        pass(1).await;
        let refused = service(&handle, "10.200.0.5").unwrap_err();
        assert!(
            refused.contains("does not match the current range"),
            "{refused}"
        );
        create(&handle);
        pass(1).await;
        let ready = &range(&handle).unwrap()["status"]["conditions"][0];
        assert_eq!(
            (&ready["status"], &ready["message"]),
            (&json!("True"), &json!("Kubernetes Service CIDR is ready"))
        );
        service(&handle, "10.200.0.5").unwrap();
        pass(1).await;
        assert!(handle.get(&addresses(), None, "10.200.0.5").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_range_stays_as_long_as_a_service_has_an_address_of_it() {
        let (_sandbox, handle) = world();
        create(&handle);
        pass(1).await;
        service(&handle, "10.200.0.5").unwrap();
        pass(1).await;
        let options = DeleteOptions::default();
        handle
            .delete(&service_ranges(), None, "more", &options)
            .unwrap();
        pass(30).await;
        let ready = &range(&handle).unwrap()["status"]["conditions"][0];
        assert_eq!(
            (&ready["status"], &ready["reason"]),
            (&json!("False"), &json!("Terminating"))
        );
        let services = GroupResource::new("", "services");
        handle
            .delete(&services, Some("default"), "web", &options)
            .unwrap();
        pass(2).await;
        assert!(range(&handle).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_range_without_addresses_goes_after_a_while() {
        let (_sandbox, handle) = world();
        create(&handle);
        pass(1).await;
        let options = DeleteOptions::default();
        handle
            .delete(&service_ranges(), None, "more", &options)
            .unwrap();
        pass(5).await;
        assert!(range(&handle).is_some());
        pass(7).await;
        assert!(range(&handle).is_none());
    }
}
