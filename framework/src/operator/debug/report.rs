use std::{collections::BTreeSet, time::Duration};

use serde::Serialize;

use crate::{
    cache::{InformerMode, InformerStatus},
    controller::ControllerReport,
    health::{Checks, Entry, Outcome, Query},
    operator::readiness::Readiness,
    resource::Undecodable,
};

/// So many keys of each kind are shown of a controller, and so many undecodable objects.
const LIMIT: usize = 500;

/// What an operator does at one moment, for people to look at; what `/debug` shows.
///
/// It names objects and repeats the texts of errors, which metrics never do. It holds no object's
/// content.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DebugReport {
    /// The operator's name.
    pub operator: String,
    /// How long ago it started.
    pub up_seconds: u64,
    /// What keeps it from being ready, by check.
    pub not_ready: Vec<String>,
    /// Whether it leads, or who does; nothing where nobody has to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// Its controllers; those that have not begun or have stopped are only named in `notReady`.
    pub controllers: Vec<ControllerReport>,
    /// Its caches.
    pub informers: Vec<InformerReport>,
    /// The objects that cannot be decoded; none of them is reconciled.
    pub quarantine: Vec<QuarantinedReport>,
}

/// One cache.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InformerReport {
    /// The kind: `deployments.apps`.
    pub resource: String,
    /// The namespaces that it reads, or none for all; and its selectors.
    pub scope: String,
    /// What it does: `watching`, `listing`, …
    pub mode: &'static str,
    /// Whether its first list is there.
    pub synced: bool,
    /// How many objects it holds.
    pub objects: usize,
    /// When it last heard from the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent_seconds: Option<u64>,
    /// What is the matter, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// An object that cannot be decoded.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct QuarantinedReport {
    /// Its kind: `deployments.apps`.
    pub resource: String,
    /// Namespace and name.
    pub key: String,
    /// The version that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// The field that does not fit, and what was expected there.
    pub reason: String,
}

impl DebugReport {
    pub(in crate::operator) fn of(readiness: &Readiness, ready: &Checks, up: Duration) -> Self {
        let controllers = readiness.controllers.iter();
        let quarantine = readiness.informers.undecodable();
        let quarantine = quarantine.iter().take(LIMIT);
        let statuses = readiness.informers.statuses();
        Self {
            operator: readiness.own_kinds.operator.clone(),
            up_seconds: up.as_secs(),
            not_ready: failed(ready),
            leader: told(ready),
            controllers: controllers.filter_map(|one| one.report(LIMIT)).collect(),
            informers: statuses.iter().map(InformerReport::of).collect(),
            quarantine: quarantine
                .map(AsRef::as_ref)
                .map(QuarantinedReport::of)
                .collect(),
        }
    }
}

/// What keeps an operator from being ready.
fn failed(ready: &Checks) -> Vec<String> {
    let report = ready.report(&Query::default());
    let failed = report
        .entries()
        .iter()
        .filter_map(|Entry { name, outcome }| match outcome {
            Outcome::Failed(reason) => Some(format!("{name}: {reason}")),
            Outcome::Ok | Outcome::Told(_) | Outcome::Excluded => None,
        });
    failed.collect()
}

/// What the election has to say, the only one that says something when all is well.
fn told(ready: &Checks) -> Option<String> {
    let report = ready.report(&Query::default());
    report
        .entries()
        .iter()
        .find_map(|entry| match &entry.outcome {
            Outcome::Told(text) => Some(text.clone()),
            _ => None,
        })
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
            trouble: status.is_troubled().then(|| status.to_string()),
        }
    }
}

impl QuarantinedReport {
    fn of(undecodable: &Undecodable) -> Self {
        Self {
            resource: undecodable.resource.qualified_plural(),
            key: undecodable.key.to_string(),
            resource_version: undecodable.resource_version.clone(),
            reason: undecodable.reason.clone(),
        }
    }
}
