//! What all controllers of Pods do alike: find, create and delete their Pods.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::events::{self, Message};
use super::object::{condition, controller_reference, is_controlled_by, is_true, pods};
use crate::api::{DeleteOptions, Handle};
use crate::error::ApiError;
use crate::meta;

/// The Pods of a controller, by name.
pub(super) fn controlled(handle: &Handle, owner: &Value) -> Vec<Arc<Value>> {
    let namespace = meta::text(owner, "namespace");
    let mut pods = handle.list(&pods(), Some(namespace));
    pods.retain(|pod| is_controlled_by(pod, owner));
    pods
}

/// Whether a Pod has neither ended nor is being deleted.
pub(super) fn is_active(pod: &Value) -> bool {
    !has_ended(pod) && !meta::is_deleting(pod)
}

pub(super) fn has_ended(pod: &Value) -> bool {
    matches!(
        pod["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    )
}

/// The order of Pods by their use, the most useful first: those that are bound, run and are ready, then the oldest.
/// Superfluous Pods go from the end.
pub(super) fn by_use(pod: &Value) -> impl Ord + use<> {
    let unbound = pod["spec"]["nodeName"].is_null();
    let waits = pod["status"]["phase"] != "Running";
    let age = meta::text(pod, "creationTimestamp").to_owned();
    let name = meta::name(pod).to_owned();
    (unbound, waits, !is_true(pod, "Ready"), age, name)
}

/// A Pod made from the template of `owner`, with a generated name. It gets only the labels, annotations and finalizers of the template's metadata.
pub(super) fn from_template(owner: &Value, template: &Value) -> Value {
    let mut metadata = json!({});
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    metadata["generateName"] = json!(format!("{}-", meta::name(owner)));
    metadata["namespace"] = json!(meta::text(owner, "namespace"));
    metadata["ownerReferences"] = json!([controller_reference(owner)]);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": template["spec"],
    })
}

/// Creates a Pod. An Event of `component` about `owner` tells of it.
pub(super) fn create(
    handle: &Handle,
    owner: &Value,
    component: &str,
    pod: Value,
) -> Result<Value, ApiError> {
    let created = handle.create(&pods(), pod);
    if created.as_ref().is_err_and(ApiError::is_waiting) {
        return created;
    }
    let (reason, text) = match &created {
        Ok(pod) => (
            "SuccessfulCreate",
            format!("Created pod: {}", meta::name(pod)),
        ),
        Err(error) => ("FailedCreate", format!("Error creating: {error}")),
    };
    let message = Message {
        component,
        warning: created.is_err(),
        reason,
    };
    events::record(handle, owner, message, &text);
    created
}

/// Deletes a Pod. An Event of `component` about `owner` tells of it. Returns whether the Pod is gone or going.
pub(super) fn delete(handle: &Handle, owner: &Value, component: &str, pod: &Value) -> bool {
    let options = DeleteOptions {
        uid: Some(meta::uid(pod).to_owned()),
        ..DeleteOptions::default()
    };
    let (namespace, name) = (meta::text(pod, "namespace"), meta::name(pod));
    let (warning, reason, text) = match handle.delete(&pods(), Some(namespace), name, &options) {
        Ok(_) => (false, "SuccessfulDelete", format!("Deleted pod: {name}")),
        Err(error) if error.code == 404 => return true,
        Err(error) if error.is_waiting() => return false,
        Err(error) => (true, "FailedDelete", format!("Error deleting: {error}")),
    };
    let message = Message {
        component,
        warning,
        reason,
    };
    events::record(handle, owner, message, &text);
    !warning
}

/// Deletes a Pod without a time to stop.
pub(super) fn remove(handle: &Handle, pod: &Value) {
    let options = DeleteOptions {
        grace_period: Some(0),
        uid: Some(meta::uid(pod).to_owned()),
        ..DeleteOptions::default()
    };
    let namespace = meta::text(pod, "namespace");
    // An error means that the Pod is gone or that another Pod has its name. In both cases nothing is left to do.
    let _ = handle.delete(&pods(), Some(namespace), meta::name(pod), &options);
}

/// How long a ready Pod must still stay ready until it counts as available. `None` if it is not ready.
pub(super) fn available_in(pod: &Value, minimum: i64, now: Timestamp) -> Option<Duration> {
    let ready = condition(pod, "Ready").filter(|ready| ready["status"] == "True")?;
    let since: Option<Timestamp> = ready["lastTransitionTime"]
        .as_str()
        .and_then(|time| time.parse().ok());
    let Some(since) = since.filter(|_| minimum > 0) else {
        return Some(Duration::ZERO);
    };
    let rest = SignedDuration::from_secs(minimum) - now.duration_since(since);
    Some(Duration::try_from(rest).unwrap_or_default())
}
