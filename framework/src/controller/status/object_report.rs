use serde::Serialize;

use super::controller_report::{ControllerReport, KeyReport};
use crate::{
    controller::{
        annotations,
        caches::FoundChild,
        history::{CauseReport, ReconcileReport},
        state::ControllerState,
    },
    resource::{ObjectKey, ObjectMeta, readiness_of},
};

/// At most this many keys are looked through for the state of one.
pub(super) const MOST_KEYS: usize = 100_000;
/// At most this many children are shown.
const MOST_CHILDREN: usize = 500;

/// What happened to one object, and what happens with it now. See
/// [`ControllerStatus::object`](super::ControllerStatus::object).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ObjectReport {
    /// The name of the controller.
    pub controller: String,
    /// The reconciled kind.
    pub kind: String,
    /// Namespace and name of the object.
    pub key: String,
    /// Whether the cache has the object.
    pub exists: bool,
    /// The version that the cache has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// The generation of that version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Whether the object is being deleted.
    pub deleting: bool,
    /// Whether the object is paused by its annotation.
    pub paused: bool,
    /// What happens with it now; `None` if nothing does and its last reconcile did not fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<KeyReport>,
    /// Why it is to be reconciled next, the newest cause first.
    pub causes: Vec<CauseReport>,
    /// Its last reconciles, the newest first; at most 50.
    pub reconciles: Vec<ReconcileReport>,
    /// The objects of the owned kinds that belong to it, at most 500.
    pub children: Vec<ChildReport>,
    /// The number of further children.
    pub more_children: usize,
}

/// A child of an object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ChildReport {
    /// Kind, namespace and name.
    pub object: String,
    /// The version that the cache has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// Whether it is ready. `None` if the cache has only a part of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Why it is not ready, or why it does not decode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ObjectReport {
    /// `metadata` is that of the object in the cache.
    pub(super) fn of(
        controller: &ControllerState,
        all: ControllerReport,
        key: &ObjectKey,
        metadata: Option<&ObjectMeta>,
    ) -> Self {
        let shown = key.to_string();
        let (causes, reconciles) = match &controller.history {
            Some(history) => history.report(key),
            None => Default::default(),
        };
        let uid = metadata.and_then(|metadata| metadata.uid.as_deref());
        let mut children = Vec::new();
        for (kind, found) in uid.map_or_else(Vec::new, |uid| controller.caches.children(uid)) {
            children.extend(found.into_iter().map(|one| ChildReport::of(&kind, one)));
        }
        let more_children = children.len().saturating_sub(MOST_CHILDREN);
        children.truncate(MOST_CHILDREN);
        Self {
            controller: all.name,
            kind: all.kind,
            exists: metadata.is_some(),
            resource_version: metadata.and_then(|one| one.resource_version.clone()),
            generation: metadata.and_then(|one| one.generation),
            deleting: metadata.is_some_and(|one| one.deletion_timestamp.is_some()),
            paused: metadata.is_some_and(annotations::is_paused),
            now: all.keys.into_iter().find(|one| one.key == shown),
            key: shown,
            causes,
            reconciles,
            children,
            more_children,
        }
    }
}

impl ChildReport {
    fn of(kind: &str, found: FoundChild) -> Self {
        let readiness = found.whole.as_ref().map(readiness_of);
        let reason = readiness
            .as_ref()
            .and_then(|readiness| readiness.reason().map(str::to_owned));
        Self {
            object: format!("{kind} {}", found.key),
            resource_version: found.resource_version,
            ready: readiness.map(|readiness| readiness.is_ready()),
            reason: reason.or_else(|| Some(format!("it does not decode: {}", found.undecodable?))),
        }
    }
}
