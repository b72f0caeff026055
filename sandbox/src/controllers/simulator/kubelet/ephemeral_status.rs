use serde_json::{Value, json};

use super::containers::{EPHEMERAL, containers};
use super::logs::begin_log;
use super::pod_status::{changed, running_since, write};
use crate::api::Handle;

/// Reports that an ephemeral container waits. Without a message it is about to start.
pub(super) fn waits(
    handle: &Handle,
    pod: &Value,
    name: &str,
    (reason, message): (&str, Option<&str>),
) {
    let mut waiting = json!({"reason": reason});
    if let Some(message) = message {
        waiting["message"] = message.into();
    }
    write_ephemeral(handle, pod, name, |_, status| {
        status["state"] = json!({"waiting": waiting});
    });
}

/// Reports that an ephemeral container runs.
pub(super) fn runs(handle: &Handle, pod: &Value, name: &str) {
    let now = handle.core().clock.timestamp();
    begin_log(handle, pod, EPHEMERAL, name);
    write_ephemeral(handle, pod, name, |old, status| {
        status["state"] = running_since(old, &now);
        status["imageID"] = status["image"].clone();
    });
}

fn write_ephemeral(handle: &Handle, pod: &Value, name: &str, change: impl Fn(&Value, &mut Value)) {
    write(handle, pod, |pod| {
        set_ephemeral(pod, |container, old, status| {
            if container["name"] == name {
                change(old, status);
            }
        });
    });
}

/// Changes the statuses of the ephemeral containers. They never count as ready or started.
pub(super) fn set_ephemeral(pod: &mut Value, change: impl Fn(&Value, &Value, &mut Value)) {
    if containers(pod, EPHEMERAL).next().is_none() {
        return;
    }
    let statuses = changed(pod, EPHEMERAL, |container, old, status| {
        if let Some(fields) = status.as_object_mut() {
            fields.remove("started");
        }
        change(container, old, status);
    });
    pod["status"]["ephemeralContainerStatuses"] = statuses;
}
