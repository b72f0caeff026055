use serde_json::Value;

use super::containers::{EPHEMERAL, INIT, List, MAIN, containers};
use crate::api::Handle;
use crate::meta;
use crate::pods::LogStream;

/// Writes the first line of each log: that the container is simulated.
pub(super) fn begin_logs(handle: &Handle, pod: &Value) {
    for container in containers(pod, MAIN) {
        begin_log(
            handle,
            pod,
            MAIN,
            container["name"].as_str().unwrap_or_default(),
        );
    }
}

/// Ends the logs of containers that have exited.
pub(super) fn end_logs(handle: &Handle, pod: &Value, has_exited: impl Fn(List, &Value) -> bool) {
    for list in [MAIN, INIT, EPHEMERAL] {
        for container in containers(pod, list).filter(|container| has_exited(list, container)) {
            let name = container["name"].as_str().unwrap_or_default();
            handle.core().containers.log(meta::uid(pod), name).end();
        }
    }
}

/// Begins the log of a new run of a container with the same line.
pub(super) fn begin_log(handle: &Handle, pod: &Value, list: List, name: &str) {
    let core = handle.core();
    for container in containers(pod, list).filter(|one| one["name"] == name) {
        if let Some(log) = core.containers.begin_run(meta::uid(pod), name) {
            let image = container["image"].as_str().unwrap_or_default();
            let text = format!("simulated: container {name} of image {image} started");
            log.write(core.clock.now(), LogStream::Stdout, &text);
        }
    }
}
