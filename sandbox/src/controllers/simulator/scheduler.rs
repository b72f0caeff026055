//! Binds Pods to nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::node::{self, Misfit};
use super::object::{nodes, pods, update};
use super::pod_control::has_ended;
use super::volumes;
use crate::api::Handle;
use crate::meta;

/// Binds a Pod that has no node to the node on which the fewest Pods are, of those on which it fits.
pub(super) fn schedule(handle: &Handle, pod: &Value) {
    let gates = pod.pointer("/spec/schedulingGates");
    let gates = gates.and_then(Value::as_array);
    if gates.is_some_and(|gates| !gates.is_empty()) {
        let text = "Scheduling is blocked due to non-empty scheduling gates";
        report(handle, pod, "SchedulingGated", text);
        return;
    }
    let mut candidates = handle.list(&nodes(), None);
    // Nothing runs on nodes that somebody else has created, unless the Pod is made for one.
    let named = node::named(&pod["spec"]);
    candidates.retain(|one| node::is_simulated(meta::name(one)) || named == Some(meta::name(one)));
    let mut misfits: BTreeMap<Misfit, u32> = BTreeMap::new();
    let total = candidates.len();
    let unbound = volumes::unbound(handle, pod);
    let misfit = |node: &Value| {
        let misfit = node::misfit(node, &pod["spec"]);
        misfit.or_else(|| volumes::fits(handle, pod, node))
    };
    candidates.retain(|one| match misfit(one) {
        Some(misfit) => {
            *misfits.entry(misfit).or_default() += 1;
            false
        }
        None => true,
    });
    let reasons: Vec<String> = if candidates.is_empty() {
        let counts = misfits.into_iter();
        counts
            .map(|(why, count)| format!("{count} {}", why.text()))
            .collect()
    } else {
        unbound.into_iter().collect()
    };
    let chosen = emptiest(handle, candidates).filter(|_| reasons.is_empty());
    let Some(chosen) = chosen else {
        let reasons = reasons.join(", ");
        let text = format!("0/{total} nodes are available: {reasons}.");
        report(handle, pod, "Unschedulable", &text);
        return;
    };
    if !volumes::select_node(handle, pod, meta::name(&chosen)) {
        // A change of the claims is a reason to look again.
        return;
    }
    update(handle, &pods(), pod, "binding", |pod| {
        pod["spec"]["nodeName"] = json!(meta::name(&chosen));
    });
    report(handle, pod, "", "");
}

/// The node on which the fewest Pods are.
fn emptiest(handle: &Handle, mut candidates: Vec<Arc<Value>>) -> Option<Arc<Value>> {
    if candidates.len() > 1 {
        let all = handle.list(&pods(), None);
        candidates.sort_by_cached_key(|node| {
            let here = |pod: &&Arc<Value>| pod["spec"]["nodeName"] == meta::name(node);
            all.iter()
                .filter(here)
                .filter(|pod| !has_ended(pod))
                .count()
        });
    }
    candidates.into_iter().next()
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
