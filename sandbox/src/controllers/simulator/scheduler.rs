//! Binds Pods to the node.

use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::node::NODE;
use super::object::{pods, update};
use super::volumes;
use crate::api::Handle;

/// Binds a Pod that has no node.
pub(super) fn schedule(handle: &Handle, pod: &Value) {
    let gates = pod.pointer("/spec/schedulingGates");
    if gates
        .and_then(Value::as_array)
        .is_some_and(|gates| !gates.is_empty())
    {
        let text = "Scheduling is blocked due to non-empty scheduling gates";
        report(handle, pod, "SchedulingGated", text);
        return;
    }
    if let Some(reason) = volumes::unbound(handle, pod) {
        let text = format!("0/1 nodes are available: {reason}.");
        report(handle, pod, "Unschedulable", &text);
        return;
    }
    update(handle, &pods(), pod, "", |pod| {
        pod["spec"]["nodeName"] = json!(NODE);
    });
    report(handle, pod, "", "");
}

/// Reports that a Pod is bound, or with a reason why it is not.
fn report(handle: &Handle, pod: &Value, reason: &str, message: &str) {
    let now = handle.core().clock.timestamp();
    update(handle, &pods(), pod, "status", |pod| {
        let condition = Condition {
            kind: "PodScheduled",
            status: if reason.is_empty() { "True" } else { "False" },
            reason,
            message: message.to_owned(),
        };
        conditions::set(&mut pod["status"], &condition, false, &now);
    });
}
