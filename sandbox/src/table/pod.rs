use jiff::Timestamp;
use serde_json::Value;

use super::cells::{NONE, age, items, number, since, text, text_or, time};
use super::printer::Printer;

pub(super) const PODS: Printer = Printer {
    named: true,
    columns: &[
        ("Ready", "string", 0),
        ("Status", "string", 0),
        ("Restarts", "string", 0),
        ("Age", "string", 0),
        ("IP", "string", 1),
        ("Node", "string", 1),
        ("Nominated Node", "string", 1),
        ("Readiness Gates", "string", 1),
    ],
    cells: |object, now| {
        let statuses = items(object, "/status/containerStatuses");
        let ready = statuses.iter().filter(|s| s["ready"] == true).count();
        let total = items(object, "/spec/containers").len();
        vec![
            format!("{ready}/{total}").into(),
            status(object).into(),
            restarts(statuses, now).into(),
            age(object, now),
            text_or(object, "/status/podIP", NONE).into(),
            text_or(object, "/spec/nodeName", NONE).into(),
            text_or(object, "/status/nominatedNodeName", NONE).into(),
            gates(object).into(),
        ]
    },
};

/// The phase, or something more specific: why a container waits or ended, that init containers are not done, that the
/// Pod is terminating.
fn status(pod: &Value) -> String {
    let mut reason = text_or(pod, "/status/reason", text(pod, "/status/phase")).to_owned();
    for condition in items(pod, "/status/conditions") {
        if condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated" {
            reason = "SchedulingGated".to_owned();
        }
    }
    let initializing = init_status(pod);
    if let Some(initializing) = &initializing {
        reason.clone_from(initializing);
    } else {
        // The first container with something to report wins, so visit them backwards.
        let mut running = false;
        for container in items(pod, "/status/containerStatuses").iter().rev() {
            match container_reason(container) {
                Some(found) => reason = found,
                None => {
                    running |=
                        container["ready"] == true && container.pointer("/state/running").is_some();
                }
            }
        }
        if reason == "Completed" && running {
            reason = if condition(pod, "Ready") {
                "Running"
            } else {
                "NotReady"
            }
            .to_owned();
        }
    }
    if pod.pointer("/metadata/deletionTimestamp").is_some() {
        let finished = matches!(text(pod, "/status/phase"), "Failed" | "Succeeded");
        if text(pod, "/status/reason") == "NodeLost" {
            reason = "Unknown".to_owned();
        } else if !finished {
            reason = "Terminating".to_owned();
        }
    }
    reason
}

fn init_status(pod: &Value) -> Option<String> {
    let statuses = items(pod, "/status/initContainerStatuses");
    let total = items(pod, "/spec/initContainers").len();
    for (at, container) in statuses.iter().enumerate() {
        if let Some(terminated) = container.pointer("/state/terminated") {
            if number(terminated, "/exitCode") == 0 {
                continue;
            }
            return Some(format!("Init:{}", ended(terminated)));
        }
        let restarts = items(pod, "/spec/initContainers")
            .iter()
            .any(|c| c["name"] == container["name"] && c["restartPolicy"] == "Always");
        if restarts && container["started"] == true {
            continue;
        }
        let waiting = text(container, "/state/waiting/reason");
        if !waiting.is_empty() && waiting != "PodInitializing" {
            return Some(format!("Init:{waiting}"));
        }
        return Some(format!("Init:{at}/{total}"));
    }
    None
}

fn container_reason(container: &Value) -> Option<String> {
    match text(container, "/state/waiting/reason") {
        "" => container.pointer("/state/terminated").map(ended),
        waiting => Some(waiting.to_owned()),
    }
}

fn ended(terminated: &Value) -> String {
    match (text(terminated, "/reason"), number(terminated, "/signal")) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn restarts(statuses: &[Value], now: Timestamp) -> String {
    let total: i64 = statuses.iter().map(|s| number(s, "/restartCount")).sum();
    let last = statuses
        .iter()
        .filter_map(|s| time(s, "/lastState/terminated/finishedAt"))
        .max();
    match last {
        Some(last) if total > 0 => format!("{total} ({} ago)", since(Some(last), now)),
        _ => total.to_string(),
    }
}

fn gates(pod: &Value) -> String {
    let gates = items(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return NONE.to_owned();
    }
    let open = gates
        .iter()
        .filter(|gate| condition(pod, text(gate, "/conditionType")))
        .count();
    format!("{open}/{}", gates.len())
}

fn condition(pod: &Value, name: &str) -> bool {
    items(pod, "/status/conditions")
        .iter()
        .any(|condition| condition["type"] == name && condition["status"] == "True")
}
