//! The conditions of a Pod.

use serde_json::Value;

use super::containers::{INIT, MAIN, containers, statuses_of};
use crate::controllers::simulator::conditions::{self, Condition};
use crate::controllers::simulator::object;

/// Reports that containers are not ready, or with another reason that the Pod has ended.
pub(super) fn unready(pod: &mut Value, reason: &str, now: &str) {
    let mut message = String::new();
    if reason == "ContainersNotReady" {
        let unready = |list, sidecars: bool| {
            let named = statuses_of(pod, list).filter(|status| status["ready"] != true);
            let named = named.filter_map(|status| status["name"].as_str());
            let kept = |name: &&str| {
                let mut restarting = containers(pod, list).filter(|one| one["name"] == *name);
                !sidecars || restarting.any(|one| one["restartPolicy"] == "Always")
            };
            named.filter(kept).collect::<Vec<_>>()
        };
        let names = [unready(INIT, true), unready(MAIN, false)].concat();
        message = format!("containers with unready status: [{}]", names.join(" "));
    }
    for kind in ["ContainersReady", "Ready"] {
        let condition = Condition {
            kind,
            status: "False",
            reason,
            message: message.clone(),
        };
        conditions::set(&mut pod["status"], &condition, false, now);
    }
}

/// Reports that init containers have still to end.
pub(super) fn uninitialized(pod: &mut Value, now: &str) {
    let left = statuses_of(pod, INIT).filter(|status| {
        let ended = status["state"]["terminated"]["exitCode"] == 0;
        !ended && status["started"] != true
    });
    let names: Vec<&str> = left.filter_map(|status| status["name"].as_str()).collect();
    let condition = Condition {
        kind: "Initialized",
        status: "False",
        reason: "ContainersNotInitialized",
        message: format!("containers with incomplete status: [{}]", names.join(" ")),
    };
    conditions::set(&mut pod["status"], &condition, false, now);
}

/// Reports that all containers are ready. The Pod is ready if the conditions of its readiness gates are true.
pub(super) fn is_ready(pod: &mut Value, now: &str) {
    let gates = pod.pointer("/spec/readinessGates");
    let gates = gates.and_then(Value::as_array).into_iter().flatten();
    let refused = gates.filter_map(|gate| {
        let kind = gate["conditionType"].as_str()?;
        let Some(found) = object::condition(pod, kind) else {
            return Some(format!(
                "corresponding condition of pod readiness gate {kind:?} does not exist."
            ));
        };
        let status = found["status"].as_str().unwrap_or_default();
        (status != "True").then(|| {
            format!("the status of pod readiness gate {kind:?} is not \"True\", but {status}")
        })
    });
    let refused: Vec<String> = refused.collect();
    let status = &mut pod["status"];
    condition(status, "ContainersReady", true, "", now);
    if refused.is_empty() {
        condition(status, "Ready", true, "", now);
        return;
    }
    let condition = Condition {
        kind: "Ready",
        status: "False",
        reason: "ReadinessGatesNotReady",
        message: refused.join(", "),
    };
    conditions::set(status, &condition, false, now);
}

pub(super) fn condition(status: &mut Value, kind: &str, is: bool, reason: &str, now: &str) {
    let condition = Condition {
        kind,
        status: if is { "True" } else { "False" },
        reason,
        message: String::new(),
    };
    conditions::set(status, &condition, false, now);
}
