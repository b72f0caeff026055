//! The Events of the simulated controllers.

use std::time::Duration;

use serde_json::{Value, json};

use super::MANAGER;
use super::object::{fnv, number, since};
use crate::api::{DeleteOptions, Handle};
use crate::meta;
use crate::registry::GroupResource;

/// How long an Event is kept after it was last seen, as on a real server.
pub(super) const KEPT: Duration = Duration::from_secs(3600);

pub(super) fn events() -> GroupResource {
    GroupResource::new("", "events")
}

/// What an Event says.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    /// The controller that says it.
    pub(super) component: &'a str,
    pub(super) warning: bool,
    pub(super) reason: &'a str,
}

/// Records an Event about an object. The same Event again counts as one.
pub(super) fn record(handle: &Handle, about: &Value, what: Message<'_>, message: &str) {
    let now = handle.core().clock.timestamp();
    let namespace = match meta::text(about, "namespace") {
        "" => "default",
        namespace => namespace,
    };
    let kind = if what.warning { "Warning" } else { "Normal" };
    let uid = meta::uid(about);
    let Message {
        component, reason, ..
    } = what;
    let hash = fnv(&[uid, component, kind, reason, message].join("\n"));
    let name = format!("{}.{hash:016x}", meta::name(about));
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "namespace": about["metadata"]["namespace"],
            "name": meta::name(about),
            "uid": uid,
            "resourceVersion": meta::resource_version(about),
        },
        "reason": reason,
        "message": message,
        "type": kind,
        "source": {"component": component},
        "reportingComponent": component,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    });
    let recorded = match handle.create(&events(), event) {
        Err(error) if error.code == 409 => {
            handle.update(&events(), Some(namespace), &name, "", |event| {
                event["count"] = json!(number(event, "/count") + 1);
                event["lastTimestamp"] = json!(now);
            })
        }
        created => created,
    };
    if let Err(error) = recorded {
        tracing::debug!(%namespace, %name, %error, "the simulator cannot record the Event");
    }
}

/// Deletes an Event of the simulator that has not been seen for long. Returns the time until then.
pub(super) fn expire(handle: &Handle, event: &Value) -> Option<Duration> {
    let managers = event.pointer("/metadata/managedFields")?.as_array()?;
    if managers.iter().any(|entry| entry["manager"] != MANAGER) {
        return None;
    }
    let age = since(handle, &event["lastTimestamp"])?;
    let rest = KEPT.saturating_sub(age);
    if !rest.is_zero() {
        return Some(rest);
    }
    let namespace = meta::text(event, "namespace");
    // An error means that it is gone already.
    let options = DeleteOptions::default();
    let _ = handle.delete(&events(), Some(namespace), meta::name(event), &options);
    None
}
