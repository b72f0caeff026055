use std::{collections::BTreeSet, time::Duration};

use serde::Serialize;

use crate::{
    cache::{InformerMode, InformerStatus},
    controller::ControllerReport,
    health::{Checks, Entry, Outcome, Query},
    operator::{leadership::ELECTION_CHECK, readiness::Readiness},
    resource::Undecodable,
};

/// At most this many keys of each state are shown for a controller, and at most this many undecodable objects.
const LIMIT: usize = 500;

/// The state of an operator at one moment, for people. `/debug` shows it.
///
/// Unlike metrics, it contains names of objects and texts of errors. It never contains the content of an object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DebugReport {
    /// Name of the operator.
    pub operator: String,
    /// Seconds since the start.
    pub up_seconds: u64,
    /// The failed readiness checks, each with its reason.
    pub not_ready: Vec<String>,
    /// The state of the leader election and the leader. `None` without an election.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// The controllers. Controllers that have not started or have stopped are only named in `notReady`.
    pub controllers: Vec<ControllerReport>,
    /// The caches.
    pub informers: Vec<InformerReport>,
    /// The objects that cannot be decoded. They are not reconciled.
    pub undecodable: Vec<UndecodableReport>,
}

/// The state of one cache.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InformerReport {
    /// The kind, such as `deployments.apps`.
    pub resource: String,
    /// The namespaces, if it reads not all, and the selectors.
    pub scope: String,
    /// The current activity: `watching`, `listing`, …
    pub mode: &'static str,
    /// Whether the first list is complete.
    pub synced: bool,
    /// The number of objects.
    pub objects: usize,
    /// Seconds since it last received something from the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_seconds: Option<u64>,
    /// The problem, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// An object that cannot be decoded.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UndecodableReport {
    /// The kind, such as `deployments.apps`.
    pub resource: String,
    /// Namespace and name.
    pub key: String,
    /// The resource version that cannot be decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// The field that does not fit, and what the type expects there.
    pub reason: String,
}

impl DebugReport {
    pub(in crate::operator) fn of(readiness: &Readiness, ready: &Checks, up: Duration) -> Self {
        let controllers = readiness.controllers.iter();
        let undecodable = readiness.informers.undecodable();
        let undecodable = undecodable.iter().take(LIMIT);
        let statuses = readiness.informers.statuses();
        Self {
            operator: readiness.own_kinds.operator.clone(),
            up_seconds: up.as_secs(),
            not_ready: failed_checks(ready),
            leader: election_details(ready),
            controllers: controllers.filter_map(|one| one.report(LIMIT)).collect(),
            informers: statuses.iter().map(InformerReport::of).collect(),
            undecodable: undecodable
                .map(AsRef::as_ref)
                .map(UndecodableReport::of)
                .collect(),
        }
    }
}

/// The failed readiness checks.
fn failed_checks(ready: &Checks) -> Vec<String> {
    let report = ready.report(&Query::default());
    let failed = report
        .entries()
        .iter()
        .filter_map(|Entry { name, outcome }| match outcome {
            Outcome::Failed(reason) => Some(format!("{name}: {reason}")),
            Outcome::Ok | Outcome::OkWithDetails(_) | Outcome::Excluded => None,
        });
    failed.collect()
}

/// What the check of the leader election says; `None` without an election. Other checks have details, too.
fn election_details(ready: &Checks) -> Option<String> {
    let report = ready.report(&Query::default());
    let entries = report.entries().iter();
    let mut election = entries.filter(|entry| entry.name == ELECTION_CHECK);
    match &election.next()?.outcome {
        Outcome::OkWithDetails(text) | Outcome::Failed(text) => Some(text.clone()),
        Outcome::Ok | Outcome::Excluded => None,
    }
}

impl InformerReport {
    fn of(status: &InformerStatus) -> Self {
        let scope = &status.scope;
        let namespaces = scope.namespaces.names();
        let listed = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
        let parts = [
            namespaces.map(listed),
            scope.label_selector.clone(),
            scope.field_selector.clone(),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        Self {
            resource: status.resource.qualified_plural(),
            scope: parts.join("; "),
            mode: match status.mode {
                InformerMode::Idle => "idle",
                InformerMode::Listing => "listing",
                InformerMode::Connecting => "connecting",
                InformerMode::Watching => "watching",
                InformerMode::BackingOff => "backing off",
                InformerMode::Stopped => "stopped",
            },
            synced: status.synced,
            objects: status.objects,
            silent_seconds: status.silent_for.map(|silent| silent.as_secs()),
            problem: status.is_unhealthy().then(|| status.to_string()),
        }
    }
}

impl UndecodableReport {
    fn of(undecodable: &Undecodable) -> Self {
        Self {
            resource: undecodable.resource.qualified_plural(),
            key: undecodable.key.to_string(),
            resource_version: undecodable.resource_version.clone(),
            reason: undecodable.reason.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leader_is_what_the_check_of_the_election_says_and_no_other_check() {
        let ready = Checks::new("readyz");
        ready.add_with_details("controller-website", || Ok(Some("working".into())));
        assert_eq!(election_details(&ready), None);
        ready.add_with_details(ELECTION_CHECK, || Ok(Some("b leads".into())));
        assert_eq!(election_details(&ready).as_deref(), Some("b leads"));
    }
}
