use std::time::Duration;

use serde_json::{Value, json};

use crate::api::Handle;
use crate::controllers::simulator::conditions::{self, Condition};
use crate::controllers::simulator::node;
use crate::controllers::simulator::object::{pods, update};
use crate::meta;
use crate::pods::LogStream;

/// How the containers of a Pod ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Exit {
    pub(super) code: i32,
}

impl Exit {
    /// The end of a process by SIGTERM, which a Pod that is deleted gets.
    pub(super) const TERMINATED: Self = Self { code: 143 };

    fn reason(self) -> &'static str {
        match self.code {
            0 => "Completed",
            _ => "Error",
        }
    }
}

/// Whether the Pod has ended.
pub(super) fn is_terminal(pod: &Value) -> bool {
    matches!(
        pod["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    )
}

pub(super) fn images(pod: &Value) -> impl Iterator<Item = &str> {
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    containers
        .into_iter()
        .flatten()
        .filter_map(|container| container["image"].as_str())
}

/// Whether the registry of an image is in the domain `invalid`.
pub(super) fn cannot_be_pulled(image: &str) -> bool {
    let Some((registry, _)) = image.split_once('/') else {
        return false;
    };
    let host = registry.split(':').next().unwrap_or(registry);
    host == "invalid" || host.ends_with(".invalid")
}

/// Changes the status of a Pod that has not ended.
fn write(handle: &Handle, pod: &Value, mut change: impl FnMut(&mut Value)) {
    update(handle, &pods(), pod, "status", |pod| {
        if !is_terminal(pod) {
            change(pod);
        }
    });
}

/// Reports that no container runs yet. `broken` tells which images cannot be pulled.
pub(super) fn waiting(handle: &Handle, pod: &Value, reason: &str, broken: impl Fn(&str) -> bool) {
    let now = handle.core().clock.timestamp();
    let creating = reason == "ContainerCreating";
    write(handle, pod, |pod| {
        let containers = statuses(pod, |_, image| {
            let blamed = creating || broken(image);
            let mut state = json!({"reason": if blamed { reason } else { "ContainerCreating" }});
            if blamed && !creating {
                let failed = format!("failed to pull image {image:?}: no such host");
                let text = match reason {
                    "ImagePullBackOff" => {
                        format!("Back-off pulling image {image:?}: ErrImagePull: {failed}")
                    }
                    _ => failed,
                };
                state["message"] = json!(text);
            }
            (json!({"waiting": state}), false)
        });
        started(pod, &now);
        let status = &mut pod["status"];
        status["phase"] = json!("Pending");
        status["containerStatuses"] = containers;
        condition(status, "Initialized", true, "", &now);
        unready(status, "ContainersNotReady", &now);
    });
}

/// Reports that every container runs.
pub(super) fn running(handle: &Handle, pod: &Value, ready: bool) {
    let now = handle.core().clock.timestamp();
    let address = address(meta::uid(pod));
    begin_logs(handle, pod);
    write(handle, pod, |pod| {
        let containers = statuses(pod, |old, _| {
            let started = old.pointer("/state/running/startedAt").cloned();
            let started = started.unwrap_or_else(|| json!(now));
            (json!({"running": {"startedAt": started}}), ready)
        });
        started(pod, &now);
        let status = &mut pod["status"];
        status["phase"] = json!("Running");
        status["containerStatuses"] = containers;
        status["podIP"] = json!(address);
        status["podIPs"] = json!([{"ip": address}]);
        for kind in ["Initialized", "PodReadyToStartContainers"] {
            condition(status, kind, true, "", &now);
        }
        if ready {
            for kind in ["ContainersReady", "Ready"] {
                condition(status, kind, true, "", &now);
            }
        } else {
            unready(status, "ContainersNotReady", &now);
        }
    });
}

/// Reports that the containers exited and start again, after a back-off if there is one.
pub(super) fn restarting(handle: &Handle, pod: &Value, exit: Exit, back_off: Option<Duration>) {
    let now = handle.core().clock.timestamp();
    let place = format!("{}_{}", meta::name(pod), meta::text(pod, "namespace"));
    write(handle, pod, |pod| {
        let uid = meta::uid(pod).to_owned();
        let containers = containers(pod, |old, status| {
            let terminated = terminated(old, exit, &now);
            status["ready"] = json!(false);
            status["started"] = json!(false);
            let Some(back_off) = back_off else {
                status["state"] = json!({"terminated": terminated});
                return;
            };
            let name = status["name"].as_str().unwrap_or_default();
            let message = format!(
                "back-off {} restarting failed container={name} pod={place}({uid})",
                printed(back_off)
            );
            status["state"] =
                json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}});
            status["lastState"] = json!({"terminated": terminated});
        });
        let status = &mut pod["status"];
        status["containerStatuses"] = containers;
        unready(status, "ContainersNotReady", &now);
    });
}

/// Counts a new start of the containers.
pub(super) fn restarted(handle: &Handle, pod: &Value, exit: Exit) {
    let now = handle.core().clock.timestamp();
    write(handle, pod, |pod| {
        let containers = containers(pod, |old, status| {
            let count = old["restartCount"].as_i64().unwrap_or_default() + 1;
            status["restartCount"] = json!(count);
            status["lastState"] = json!({"terminated": terminated(old, exit, &now)});
            status["state"] = json!({"running": {"startedAt": now}});
        });
        pod["status"]["containerStatuses"] = containers;
    });
}

/// Reports that the containers exited and do not start again: the Pod has ended.
pub(super) fn exited(handle: &Handle, pod: &Value, exit: Exit) {
    let now = handle.core().clock.timestamp();
    write(handle, pod, |pod| {
        let containers = containers(pod, |old, status| {
            status["state"] = json!({"terminated": terminated(old, exit, &now)});
            status["ready"] = json!(false);
            status["started"] = json!(false);
        });
        let status = &mut pod["status"];
        status["containerStatuses"] = containers;
        let (phase, reason) = match exit.code {
            0 => ("Succeeded", "PodCompleted"),
            _ => ("Failed", "PodFailed"),
        };
        status["phase"] = json!(phase);
        if exit.code == 0 {
            condition(status, "Initialized", true, reason, &now);
        }
        condition(status, "PodReadyToStartContainers", false, "", &now);
        unready(status, reason, &now);
    });
}

/// Reports that the Pod was active for longer than its specification allows.
pub(super) fn deadline_exceeded(handle: &Handle, pod: &Value) {
    exited(handle, pod, Exit::TERMINATED);
    update(handle, &pods(), pod, "status", |pod| {
        let status = &mut pod["status"];
        status["reason"] = json!("DeadlineExceeded");
        status["message"] = json!("Pod was active on the node longer than the specified deadline");
    });
}

/// The entry of a container that has exited. One that had exited before keeps its times.
fn terminated(old: &Value, exit: Exit, now: &str) -> Value {
    for known in ["/state/terminated", "/lastState/terminated"] {
        let waits = old["state"]["running"].is_null();
        if let Some(known) = old.pointer(known).filter(|_| waits) {
            return known.clone();
        }
    }
    let started = &old["state"]["running"]["startedAt"];
    let started = started.as_str().unwrap_or(now);
    json!({
        "exitCode": exit.code,
        "reason": exit.reason(),
        "startedAt": started,
        "finishedAt": now,
    })
}

/// A back-off in the form of a Go duration: `10s`, `1m20s`.
fn printed(time: Duration) -> String {
    let (minutes, seconds) = (time.as_secs() / 60, time.as_secs() % 60);
    match minutes {
        0 => format!("{seconds}s"),
        _ => format!("{minutes}m{seconds}s"),
    }
}

fn started(pod: &mut Value, now: &str) {
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    let address = node::address(node);
    let status = &mut pod["status"];
    status["hostIP"] = json!(address);
    if status.get("startTime").is_none() {
        status["startTime"] = json!(now);
    }
    condition(status, "PodScheduled", true, "", now);
}

fn unready(status: &mut Value, reason: &str, now: &str) {
    for kind in ["ContainersReady", "Ready"] {
        condition(status, kind, false, reason, now);
    }
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
    containers(pod, |old, status| {
        let image = status["image"].as_str().unwrap_or_default().to_owned();
        let (state, ready) = state(old, &image);
        let runs = state.get("running").is_some();
        status["imageID"] = json!(if runs { &image } else { "" });
        status["ready"] = json!(ready);
        status["started"] = json!(runs);
        status["state"] = state;
    })
}

/// The status of each container: as it was, and then changed by `change`, which also gets the old status.
fn containers(pod: &Value, change: impl Fn(&Value, &mut Value)) -> Value {
    let old = pod
        .pointer("/status/containerStatuses")
        .and_then(Value::as_array);
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    let status = |container: &Value| {
        let image = container["image"].as_str().unwrap_or_default();
        let mut known = old.into_iter().flatten();
        let known = known.find(|status| status["name"] == container["name"]);
        let mut status = known.cloned().unwrap_or_else(|| {
            json!({
                "name": container["name"],
                "imageID": "",
                "ready": false,
                "started": false,
                "restartCount": 0,
                "state": {"waiting": {"reason": "ContainerCreating"}},
            })
        });
        status["image"] = json!(image);
        change(known.unwrap_or(&Value::Null), &mut status);
        status
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
