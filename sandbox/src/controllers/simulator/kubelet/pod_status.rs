use std::time::Duration;

use serde_json::{Value, json};

use super::containers::{INIT, List, MAIN, containers};
use super::ephemeral_status::set_ephemeral;
use super::logs::{begin_log, begin_logs, end_logs};
use super::pod_conditions::{condition, is_ready, uninitialized, unready};
use crate::api::Handle;
use crate::controllers::simulator::node;
use crate::controllers::simulator::object::{pods, update};
use crate::meta;
use crate::pods::Probe;

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
    let lists = ["/spec/initContainers", "/spec/containers"];
    let containers = lists.into_iter().filter_map(|list| pod.pointer(list));
    let containers = containers.filter_map(Value::as_array).flatten();
    containers.filter_map(|container| container["image"].as_str())
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
pub(super) fn write(handle: &Handle, pod: &Value, mut change: impl FnMut(&mut Value)) {
    update(handle, &pods(), pod, "status", |pod| {
        if !is_terminal(pod) {
            change(pod);
        }
    });
}

/// Why an image cannot be pulled: the reason in the status of its container decides the text.
pub(super) fn pull_failure(reason: &str, image: &str) -> String {
    let failed = format!("failed to pull image {image:?}: no such host");
    match reason {
        BACK_OFF => format!("Back-off pulling image {image:?}: {PULL}: {failed}"),
        _ => failed,
    }
}

/// The reason of a container whose image could not be pulled.
pub(super) const PULL: &str = "ErrImagePull";
/// The reason of a container whose image will be pulled again.
pub(super) const BACK_OFF: &str = "ImagePullBackOff";

/// Reports that no container runs yet. `broken` tells which images cannot be pulled.
pub(super) fn waiting(handle: &Handle, pod: &Value, reason: &str, broken: impl Fn(&str) -> bool) {
    let now = handle.core().clock.timestamp();
    write(handle, pod, |pod| {
        let starting = match has_init(pod) {
            true => "PodInitializing",
            false => "ContainerCreating",
        };
        let state = |_: &Value, _: &Value, image: &str| {
            let blamed = broken(image);
            let mut state = json!({"reason": if blamed { reason } else { starting }});
            if blamed {
                state["message"] = json!(pull_failure(reason, image));
            }
            (json!({"waiting": state}), false, false)
        };
        let containers = statuses(pod, MAIN, state);
        let init = statuses(pod, INIT, state);
        started(pod, &now);
        let initialized = !has_init(pod);
        let status = &mut pod["status"];
        status["phase"] = json!("Pending");
        status["containerStatuses"] = containers;
        if initialized {
            condition(status, "Initialized", true, "", &now);
        } else {
            status["initContainerStatuses"] = init;
            uninitialized(pod, &now);
        }
        unready(pod, "ContainersNotReady", &now);
    });
}

/// Reports that containers cannot be created. `missing` tells what their environment lacks. The others wait for them.
pub(super) fn misconfigured(
    handle: &Handle,
    pod: &Value,
    missing: impl Fn(&Value) -> Option<String>,
) {
    let now = handle.core().clock.timestamp();
    write(handle, pod, |pod| {
        let [containers, init] = [MAIN, INIT].map(|list| {
            changed(pod, list, |container, _, status| {
                if let Some(why) = missing(container) {
                    let reason = "CreateContainerConfigError";
                    status["state"] = json!({"waiting": {"reason": reason, "message": why}});
                } else if status["state"]["waiting"]["reason"] == "CreateContainerConfigError" {
                    status["state"] = json!({"waiting": {"reason": "ContainerCreating"}});
                }
            })
        });
        let is_initialized = !has_init(pod) || ended_well(&init);
        let has_init = has_init(pod);
        let status = &mut pod["status"];
        status["containerStatuses"] = containers;
        if has_init {
            status["initContainerStatuses"] = init;
        }
        if is_initialized {
            condition(status, "Initialized", true, "", &now);
        }
        unready(pod, "ContainersNotReady", &now);
    });
}

/// Whether each init container has ended, or runs on beside the others.
fn ended_well(init: &Value) -> bool {
    let mut init = init.as_array().into_iter().flatten();
    init.all(|status| {
        status["state"]["running"].is_object() || status["state"]["terminated"]["exitCode"] == 0
    })
}

/// Reports that every container runs. `probed` tells whether a container has started and is ready, from its specification and its old status.
pub(super) fn running(
    handle: &Handle,
    pod: &Value,
    probed: impl Fn(&Value, &Value) -> (bool, bool),
) {
    let now = handle.core().clock.timestamp();
    let address = address(meta::uid(pod));
    begin_logs(handle, pod);
    write(handle, pod, |pod| {
        let runs = |container: &Value, old: &Value, _: &str| {
            let (started, ready) = probed(container, old);
            (running_since(old, &now), started, ready)
        };
        let containers = statuses(pod, MAIN, runs);
        let init = changed(pod, INIT, |container, old, status| {
            if container["restartPolicy"] == "Always" {
                let (started, ready) = probed(container, old);
                status["started"] = json!(started);
                status["ready"] = json!(ready);
            }
        });
        let all_ready = |list: &Value| {
            let mut statuses = list.as_array().into_iter().flatten();
            statuses.all(|status| status["ready"] == true)
        };
        let ready = all_ready(&containers) && all_ready(&init);
        started(pod, &now);
        let has_init = has_init(pod);
        let status = &mut pod["status"];
        status["phase"] = json!("Running");
        status["containerStatuses"] = containers;
        if has_init {
            status["initContainerStatuses"] = init;
        }
        status["podIP"] = json!(address);
        status["podIPs"] = json!([{"ip": address}]);
        for kind in ["Initialized", "PodReadyToStartContainers"] {
            condition(status, kind, true, "", &now);
        }
        match ready {
            true => is_ready(pod, &now),
            false => unready(pod, "ContainersNotReady", &now),
        }
    });
}

/// Reports that the containers exited and start again, after a back-off if there is one.
pub(super) fn restarting(
    handle: &Handle,
    pod: &Value,
    exit: Exit,
    back_off: Option<Duration>,
    which: Which,
) {
    let now = handle.core().clock.timestamp();
    let place = place(pod);
    end_logs(handle, pod, |list, container| which.has(list, container));
    write(handle, pod, |pod| {
        let [containers, init] = [MAIN, INIT].map(|list| {
            changed(pod, list, |container, old, status| {
                if which.has(list, container) {
                    end(old, status, exit, back_off, &place, &now);
                }
            })
        });
        let has_init = has_init(pod);
        let status = &mut pod["status"];
        status["containerStatuses"] = containers;
        if has_init {
            status["initContainerStatuses"] = init;
        }
        unready(pod, "ContainersNotReady", &now);
    });
}

/// The name of a Pod in messages about its containers.
pub(super) fn place(pod: &Value) -> String {
    let (name, namespace) = (meta::name(pod), meta::text(pod, "namespace"));
    format!("{name}_{namespace}({})", meta::uid(pod))
}

/// Writes into the status of a container that it exited and starts again.
fn end(
    old: &Value,
    status: &mut Value,
    exit: Exit,
    back_off: Option<Duration>,
    place: &str,
    now: &str,
) {
    let terminated = terminated(old, exit, now);
    status["ready"] = json!(false);
    status["started"] = json!(false);
    let Some(back_off) = back_off else {
        status["state"] = json!({"terminated": terminated});
        return;
    };
    let name = status["name"].as_str().unwrap_or_default();
    let message = format!(
        "back-off {} restarting failed container={name} pod={place}",
        printed(back_off)
    );
    status["state"] = json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}});
    status["lastState"] = json!({"terminated": terminated});
}

/// The containers that exit: all but init containers, or those with the probe that failed.
#[derive(Clone, Copy)]
pub(super) struct Which(pub(super) Option<Probe>);

impl Which {
    pub(super) fn containers(self, pod: &Value) -> impl Iterator<Item = &Value> {
        [MAIN, INIT].into_iter().flat_map(move |list| {
            containers(pod, list).filter(move |container| self.has(list, container))
        })
    }

    fn has(self, list: List, container: &Value) -> bool {
        let runs = list == MAIN || container["restartPolicy"] == "Always";
        match self.0 {
            Some(probe) => runs && container.get(probe.field()).is_some(),
            None => list == MAIN,
        }
    }
}

/// Reports that an init container runs.
pub(super) fn init_runs(handle: &Handle, pod: &Value, name: &str, restarts: u32) {
    let now = handle.core().clock.timestamp();
    begin_log(handle, pod, INIT, name);
    write_init(handle, pod, name, |old, status| {
        status["restartCount"] = json!(restarts);
        status["state"] = running_since(old, &now);
        status["started"] = json!(true);
        status["imageID"] = status["image"].clone();
    });
}

/// Reports that an init container runs that goes on beside the others.
pub(super) fn sidecar_runs(handle: &Handle, pod: &Value, name: &str, started: bool, ready: bool) {
    let now = handle.core().clock.timestamp();
    begin_log(handle, pod, INIT, name);
    write_init(handle, pod, name, |old, status| {
        status["state"] = running_since(old, &now);
        status["started"] = json!(started);
        status["ready"] = json!(ready);
        status["imageID"] = status["image"].clone();
    });
}

/// Reports that an init container exited. With `again` it starts again, after a back-off if there is one.
pub(super) fn init_exited(
    handle: &Handle,
    pod: &Value,
    name: &str,
    exit: Exit,
    again: Option<Option<Duration>>,
) {
    let now = handle.core().clock.timestamp();
    let place = place(pod);
    end_logs(handle, pod, |list, container| {
        list == INIT && container["name"] == name
    });
    write_init(handle, pod, name, |old, status| {
        if let Some(back_off) = again {
            end(old, status, exit, back_off, &place, &now);
            status["lastState"] = json!({"terminated": terminated(old, exit, &now)});
            return;
        }
        status["state"] = json!({"terminated": terminated(old, exit, &now)});
        status["ready"] = json!(exit.code == 0);
        status["started"] = json!(false);
    });
}

/// Reports that the Pod failed because of an init container.
pub(super) fn init_failed(handle: &Handle, pod: &Value) {
    let now = handle.core().clock.timestamp();
    write(handle, pod, |pod| {
        pod["status"]["phase"] = json!("Failed");
        unready(pod, "PodFailed", &now);
    });
}

fn write_init(handle: &Handle, pod: &Value, name: &str, change: impl Fn(&Value, &mut Value)) {
    write(handle, pod, |pod| {
        let init = changed(pod, INIT, |container, old, status| {
            if container["name"] == name {
                change(old, status);
            }
        });
        pod["status"]["initContainerStatuses"] = init;
    });
}

pub(super) fn running_since(old: &Value, now: &str) -> Value {
    let started = old.pointer("/state/running/startedAt").cloned();
    json!({"running": {"startedAt": started.unwrap_or_else(|| json!(now))}})
}

/// Counts a new start of the containers.
pub(super) fn restarted(handle: &Handle, pod: &Value, exit: Exit, which: Which) {
    let now = handle.core().clock.timestamp();
    for list in [MAIN, INIT] {
        for container in containers(pod, list).filter(|one| which.has(list, one)) {
            let name = container["name"].as_str().unwrap_or_default();
            begin_log(handle, pod, list, name);
        }
    }
    write(handle, pod, |pod| {
        let [containers, init] = [MAIN, INIT].map(|list| {
            changed(pod, list, |container, old, status| {
                if which.has(list, container) {
                    let count = old["restartCount"].as_i64().unwrap_or_default() + 1;
                    status["restartCount"] = json!(count);
                    status["lastState"] = json!({"terminated": terminated(old, exit, &now)});
                    status["state"] = json!({"running": {"startedAt": now}});
                }
            })
        });
        let has_init = has_init(pod);
        pod["status"]["containerStatuses"] = containers;
        if has_init {
            pod["status"]["initContainerStatuses"] = init;
        }
    });
}

/// Reports that the containers exited and do not start again: the Pod has ended.
pub(super) fn exited(handle: &Handle, pod: &Value, exit: Exit) {
    let now = handle.core().clock.timestamp();
    end_logs(handle, pod, |_, _| true);
    write(handle, pod, |pod| {
        let ends = |old: &Value, status: &mut Value, exit: Exit| {
            status["state"] = json!({"terminated": terminated(old, exit, &now)});
            status["ready"] = json!(false);
            status["started"] = json!(false);
        };
        let containers = changed(pod, MAIN, |_, old, status| ends(old, status, exit));
        // What runs beside the containers is told to end after them.
        let init = changed(pod, INIT, |container, old, status| {
            if container["restartPolicy"] == "Always" {
                ends(old, status, Exit::TERMINATED);
            }
        });
        let has_init = has_init(pod);
        set_ephemeral(pod, |_, old, status| {
            if old["state"]["running"].is_object() {
                status["state"] = json!({"terminated": terminated(old, Exit::TERMINATED, &now)});
            }
        });
        let status = &mut pod["status"];
        status["containerStatuses"] = containers;
        if has_init {
            status["initContainerStatuses"] = init;
        }
        let (phase, reason) = match exit.code {
            0 => ("Succeeded", "PodCompleted"),
            _ => ("Failed", "PodFailed"),
        };
        status["phase"] = json!(phase);
        if exit.code == 0 {
            condition(status, "Initialized", true, reason, &now);
        }
        condition(status, "PodReadyToStartContainers", false, "", &now);
        unready(pod, reason, &now);
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

fn has_init(pod: &Value) -> bool {
    containers(pod, INIT).next().is_some()
}

/// The status of each container. `state` returns its state, from its specification, its old status and its image, and whether it has started and is ready.
fn statuses(
    pod: &Value,
    list: List,
    state: impl Fn(&Value, &Value, &str) -> (Value, bool, bool),
) -> Value {
    changed(pod, list, |container, old, status| {
        let image = status["image"].as_str().unwrap_or_default().to_owned();
        let (state, started, ready) = state(container, old, &image);
        let runs = state.get("running").is_some();
        if runs {
            status["resources"] = resources(container);
        }
        status["imageID"] = json!(if runs { &image } else { "" });
        status["ready"] = json!(ready);
        status["started"] = json!(started);
        status["state"] = state;
    })
}

/// The resources that a container has: those that it asks for, because the node gives them at once.
fn resources(container: &Value) -> Value {
    let resources = container.get("resources").cloned();
    let mut resources = resources.unwrap_or_else(|| json!({}));
    if let Some(fields) = resources.as_object_mut() {
        fields.retain(|field, _| matches!(field.as_str(), "limits" | "requests"));
    }
    resources
}

/// The status of each container: as it was, and then changed by `change`, which gets the specification and the old status.
pub(super) fn changed(
    pod: &Value,
    list: List,
    change: impl Fn(&Value, &Value, &mut Value),
) -> Value {
    let old = pod.pointer(list.1).and_then(Value::as_array);
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
        change(container, known.unwrap_or(&Value::Null), &mut status);
        status
    };
    containers(pod, list).map(status).collect()
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
