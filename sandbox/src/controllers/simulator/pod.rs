use std::time::Duration;

use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::node::{HOST_ADDRESS, NODE};
use super::object::pods;
use super::{START, STOP};
use crate::api::{DeleteOptions, Handle};
use crate::meta;
use crate::pods::LogStream;

const FAILED: &str = "ErrImagePull";

/// Binds, starts or ends a Pod. Returns the time until the next one; `due` says that this time has passed.
pub(super) fn reconcile(handle: &Handle, pod: &Value, due: bool) -> Option<Duration> {
    if meta::is_deleting(pod) {
        return end(handle, pod, due);
    }
    if matches!(
        pod["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    ) {
        return None;
    }
    let node = pod.pointer("/spec/nodeName").and_then(Value::as_str);
    match node.unwrap_or_default() {
        "" => {
            bind(handle, pod);
            None
        }
        NODE => run(handle, pod, due),
        // The Pod is bound to another node.
        _ => None,
    }
}

fn end(handle: &Handle, pod: &Value, due: bool) -> Option<Duration> {
    // Without a grace period the Pod has ended, and only finalizers hold it.
    if pod["metadata"]["deletionGracePeriodSeconds"] == 0 {
        return None;
    }
    if !due {
        return Some(STOP);
    }
    let options = DeleteOptions {
        grace_period: Some(0),
        uid: Some(meta::uid(pod).to_owned()),
        ..DeleteOptions::default()
    };
    let namespace = meta::text(pod, "namespace");
    // An error means that the Pod is gone or that another Pod has its name. In both cases nothing is left to do.
    let _ = handle.delete(&pods(), Some(namespace), meta::name(pod), &options);
    None
}

fn bind(handle: &Handle, pod: &Value) {
    change(handle, pod, "", |pod| {
        pod["spec"]["nodeName"] = json!(NODE);
    });
    let now = handle.core().clock.timestamp();
    change(handle, pod, "status", |pod| {
        let status = &mut pod["status"];
        condition(status, "PodScheduled", true, "", &now);
    });
}

fn run(handle: &Handle, pod: &Value, due: bool) -> Option<Duration> {
    let broken = images(pod).any(cannot_be_pulled);
    let failed = pod
        .pointer("/status/containerStatuses")
        .and_then(Value::as_array)
        .is_some_and(|all| {
            let mut reasons = all.iter().map(|one| &one["state"]["waiting"]["reason"]);
            reasons.any(|reason| reason == FAILED)
        });
    if pod["status"]["phase"] == "Running" {
        running(handle, pod);
    } else if due && broken {
        waiting(handle, pod, FAILED, Some(cannot_be_pulled));
    } else if due {
        running(handle, pod);
    } else if !(broken && failed) {
        waiting(handle, pod, "ContainerCreating", None);
        return Some(START);
    }
    None
}

fn images(pod: &Value) -> impl Iterator<Item = &str> {
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    containers
        .into_iter()
        .flatten()
        .filter_map(|container| container["image"].as_str())
}

/// Whether the registry of an image is in the domain `invalid`.
fn cannot_be_pulled(image: &str) -> bool {
    let Some((registry, _)) = image.split_once('/') else {
        return false;
    };
    let host = registry.split(':').next().unwrap_or(registry);
    host == "invalid" || host.ends_with(".invalid")
}

/// Reports that no container runs yet. `broken` tells which images cannot be pulled; without it all containers wait.
fn waiting(handle: &Handle, pod: &Value, reason: &str, broken: Option<fn(&str) -> bool>) {
    let now = handle.core().clock.timestamp();
    change(handle, pod, "status", |pod| {
        let containers = statuses(pod, |_, image| {
            let blamed = broken.is_none_or(|broken| broken(image));
            let mut state = json!({"reason": if blamed { reason } else { "ContainerCreating" }});
            if blamed && broken.is_some() {
                let text = format!("failed to pull image {image:?}: no such host");
                state["message"] = json!(text);
            }
            (json!({"waiting": state}), false)
        });
        let status = &mut pod["status"];
        status["phase"] = json!("Pending");
        status["containerStatuses"] = containers;
        status["hostIP"] = json!(HOST_ADDRESS);
        if status.get("startTime").is_none() {
            status["startTime"] = json!(now);
        }
        condition(status, "PodScheduled", true, "", &now);
        condition(status, "Initialized", true, "", &now);
        for kind in ["ContainersReady", "Ready"] {
            condition(status, kind, false, "ContainersNotReady", &now);
        }
    });
}

fn running(handle: &Handle, pod: &Value) {
    let now = handle.core().clock.timestamp();
    let address = address(meta::uid(pod));
    begin_logs(handle, pod);
    change(handle, pod, "status", |pod| {
        let containers = statuses(pod, |old, _| {
            let started = old.pointer("/state/running/startedAt").cloned();
            let started = started.unwrap_or_else(|| json!(now));
            (json!({"running": {"startedAt": started}}), true)
        });
        let status = &mut pod["status"];
        status["phase"] = json!("Running");
        status["containerStatuses"] = containers;
        status["hostIP"] = json!(HOST_ADDRESS);
        status["podIP"] = json!(address);
        status["podIPs"] = json!([{"ip": address}]);
        if status.get("startTime").is_none() {
            status["startTime"] = json!(now);
        }
        for kind in [
            "PodScheduled",
            "Initialized",
            "PodReadyToStartContainers",
            "ContainersReady",
            "Ready",
        ] {
            condition(status, kind, true, "", &now);
        }
    });
}

/// Writes the first line of each log: that the container is simulated.
fn begin_logs(handle: &Handle, pod: &Value) {
    let core = handle.core();
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    for container in containers.into_iter().flatten() {
        let name = container["name"].as_str().unwrap_or_default();
        let (log, new) = core.containers.log(meta::uid(pod), name);
        if new {
            let image = container["image"].as_str().unwrap_or_default();
            let text = format!("simulated: container {name} of image {image} started");
            log.write(core.clock.now(), LogStream::Stdout, &text);
        }
    }
}

/// The status of each container. `state` returns its state, from its old status and its image, and whether it is ready.
fn statuses(pod: &Value, state: impl Fn(&Value, &str) -> (Value, bool)) -> Value {
    let old = pod
        .pointer("/status/containerStatuses")
        .and_then(Value::as_array);
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    let status = |container: &Value| {
        let image = container["image"].as_str().unwrap_or_default();
        let mut known = old.into_iter().flatten();
        let known = known.find(|status| status["name"] == container["name"]);
        let (state, ready) = state(known.unwrap_or(&Value::Null), image);
        json!({
            "name": container["name"],
            "image": image,
            "imageID": if ready { image } else { "" },
            "ready": ready,
            "started": ready,
            "restartCount": 0,
            "state": state,
        })
    };
    containers.into_iter().flatten().map(status).collect()
}

fn condition(status: &mut Value, kind: &str, is: bool, reason: &str, now: &str) {
    let condition = Condition {
        kind,
        status: if is { "True" } else { "False" },
        reason,
        message: String::new(),
    };
    conditions::set(status, &condition, false, now);
}

/// An address in 10.244.0.0/16 that depends only on the UID.
fn address(uid: &str) -> String {
    let hash = uid.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let [_, _, high, low] = hash.to_be_bytes();
    format!("10.244.{high}.{}", low.clamp(1, 254))
}

fn change(handle: &Handle, pod: &Value, subresource: &str, mut change: impl FnMut(&mut Value)) {
    let uid = meta::uid(pod);
    let (namespace, name) = (meta::text(pod, "namespace"), meta::name(pod));
    let changed = handle.update(&pods(), Some(namespace), name, subresource, |pod| {
        // Another Pod may have the name by now.
        if meta::uid(pod) == uid {
            change(pod);
        }
    });
    if let Err(error) = changed {
        tracing::debug!(%namespace, %name, %error, "the simulator cannot write the Pod");
    }
}

#[cfg(test)]
mod tests {
    use super::cannot_be_pulled;

    #[test]
    fn only_registries_of_the_reserved_domain_fail() {
        assert!(cannot_be_pulled("registry.invalid/web:1"));
        assert!(cannot_be_pulled("invalid/web") && cannot_be_pulled("a.invalid:5000/web"));
        assert!(!cannot_be_pulled("nginx:1.27") && !cannot_be_pulled("docker.io/invalid/web"));
    }
}
