//! ControllerRevisions: the templates that a StatefulSet or a DaemonSet has had.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::claim::{claim, is_selected};
use super::object::{
    controller_reference, hash_name, is_controlled_by, number, resource_of, update,
};
use crate::api::{DeleteOptions, Handle};
use crate::meta;
use crate::registry::GroupResource;

/// The label with the revision of a Pod; of a DaemonSet also the one with the hash of a ControllerRevision.
pub(super) const REVISION_LABEL: &str = "controller-revision-hash";
const HASH_LABEL: &str = "controller.kubernetes.io/hash";

fn revisions() -> GroupResource {
    GroupResource::new("apps", "controllerrevisions")
}

/// The revisions of a workload, the oldest first.
pub(super) fn of(handle: &Handle, owner: &Value) -> Vec<Arc<Value>> {
    let namespace = meta::text(owner, "namespace");
    let all = handle.list(&revisions(), Some(namespace));
    claim(handle, owner, (&revisions(), &all), None, |revision| {
        is_selected(owner, revision)
    });
    let mut all = handle.list(&revisions(), Some(namespace));
    all.retain(|revision| is_controlled_by(revision, owner));
    all.sort_by_key(|revision| number(revision, "/revision"));
    all
}

/// The revision of the present template: an existing one, which becomes the latest again, or a new one. `None` if it cannot be
/// written; then the workload changes, which is a reason to look again.
pub(super) fn latest(
    handle: &Handle,
    owner: &Value,
    known: &mut Vec<Arc<Value>>,
) -> Option<Arc<Value>> {
    let mut template = owner["spec"]["template"].clone();
    template["$patch"] = json!("replace");
    let data = json!({"spec": {"template": template}});
    let next = known.last().map_or(0, |last| number(last, "/revision")) + 1;
    let equal = known.iter().rposition(|revision| revision["data"] == data);
    if let Some(at) = equal {
        let found = known.remove(at);
        let is_last = at == known.len();
        known.push(found.clone());
        if !is_last {
            update(handle, &revisions(), &found, "", |revision| {
                revision["revision"] = json!(next);
            });
        }
        return Some(found);
    }
    let collisions = number(owner, "/status/collisionCount");
    let hash = hash_name(&format!("{data}{collisions}"));
    let namespace = meta::text(owner, "namespace");
    let name = format!("{}-{hash}", meta::name(owner));
    let mut labels = owner["spec"]["template"]["metadata"]["labels"].clone();
    let label = match owner["kind"] == "DaemonSet" {
        true => REVISION_LABEL,
        false => HASH_LABEL,
    };
    labels[label] = json!(hash);
    let revision = json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": owner["metadata"]["annotations"],
            "ownerReferences": [controller_reference(owner)],
        },
        "data": data,
        "revision": next,
    });
    match handle.create(&revisions(), revision) {
        Ok(revision) => {
            let revision = Arc::new(revision);
            known.push(revision.clone());
            Some(revision)
        }
        Err(error) if error.code == 409 => {
            // Another revision has that name. This write causes the next reconcile, which uses another hash.
            let reference = controller_reference(owner);
            let resource = resource_of(handle, &reference)?;
            update(handle, &resource, owner, "status", |owner| {
                owner["status"]["collisionCount"] = json!(collisions + 1);
            });
            None
        }
        Err(error) => {
            tracing::debug!(%namespace, %name, %error, "the simulator cannot create the ControllerRevision");
            None
        }
    }
}

/// The template of a revision.
pub(super) fn template(revision: &Value) -> Value {
    let mut template = revision["data"]["spec"]["template"].clone();
    if let Some(fields) = template.as_object_mut() {
        fields.remove("$patch");
    }
    template
}

/// The hash in the name of a revision.
pub(super) fn hash(revision: &Value) -> &str {
    let labels = &revision["metadata"]["labels"];
    let hash = labels[REVISION_LABEL].as_str();
    hash.or(labels[HASH_LABEL].as_str()).unwrap_or_default()
}

/// Deletes the oldest revisions beyond the limit of the workload, of those that are not `live`.
pub(super) fn truncate(
    handle: &Handle,
    owner: &Value,
    known: &[Arc<Value>],
    live: &BTreeSet<String>,
) {
    let limit = number(owner, "/spec/revisionHistoryLimit");
    let limit = usize::try_from(limit).unwrap_or_default();
    let dead: Vec<_> = known
        .iter()
        .filter(|revision| !live.contains(meta::name(revision)) && !live.contains(hash(revision)))
        .collect();
    for revision in &dead[..dead.len().saturating_sub(limit)] {
        let namespace = meta::text(revision, "namespace");
        let options = DeleteOptions::default();
        // An error means that it is gone already.
        let _ = handle.delete(
            &revisions(),
            Some(namespace),
            meta::name(revision),
            &options,
        );
    }
}
