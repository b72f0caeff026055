//! Binds Pods to nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::allocated::Allocated;
use super::conditions::{self, Condition};
use super::events::{self, Message};
use super::node;
use super::object::{nodes, pods, update};
use super::volumes;
use crate::api::Handle;
use crate::meta;

/// Binds a Pod that has no node to the node on which the fewest Pods are, of those on which it fits. Returns whether the Pod waits for room on
/// a node.
pub(super) fn schedule(handle: &Handle, allocated: &Allocated, pod: &Value) -> bool {
    // Another scheduler is responsible for it.
    if pod["spec"]["schedulerName"] != "default-scheduler" {
        return false;
    }
    let gates = pod.pointer("/spec/schedulingGates");
    let gates = gates.and_then(Value::as_array);
    if gates.is_some_and(|gates| !gates.is_empty()) {
        let text = "Scheduling is blocked due to non-empty scheduling gates";
        report(handle, pod, "SchedulingGated", text);
        return false;
    }
    let mut candidates = handle.list(&nodes(), None);
    // Nothing runs on nodes that somebody else has created, unless the Pod is made for one.
    let named = node::named(&pod["spec"]);
    candidates.retain(|one| node::is_simulated(meta::name(one)) || named == Some(meta::name(one)));
    let total = candidates.len();
    if let Some(why) = volumes::unbound(handle, pod) {
        // A scheduler adds the error of a step that it has left out.
        let text = format!("0/{total} nodes are available: {why}. not found");
        unschedulable(handle, pod, &text);
        return false;
    }
    let mut refused = Refused::default();
    candidates.retain(|one| refused.takes(handle, allocated, one, pod));
    // The first of those with the same number of Pods.
    let chosen = candidates
        .into_iter()
        .min_by_key(|node| allocated.pods(meta::name(node)));
    let Some(chosen) = chosen else {
        unschedulable(handle, pod, &refused.text(total));
        return refused.full > 0;
    };
    bind(handle, pod, &chosen);
    false
}

fn bind(handle: &Handle, pod: &Value, node: &Arc<Value>) {
    let node = meta::name(node);
    if !volumes::select_node(handle, pod, node) {
        // A change of the claims is a reason to look again.
        return;
    }
    update(handle, &pods(), pod, "binding", |pod| {
        pod["spec"]["nodeName"] = json!(node);
    });
    report(handle, pod, "", "");
    let (namespace, name) = (meta::text(pod, "namespace"), meta::name(pod));
    let text = format!("Successfully assigned {namespace}/{name} to {node}");
    record(handle, pod, false, "Scheduled", "Binding", &text);
}

/// The nodes that do not take a Pod.
#[derive(Default)]
struct Refused {
    reasons: BTreeMap<String, usize>,
    /// Those on which the Pod would fit if other Pods were not there.
    full: usize,
}

impl Refused {
    /// Whether a node takes a Pod; notes why if it does not.
    fn takes(&mut self, handle: &Handle, allocated: &Allocated, node: &Value, pod: &Value) -> bool {
        let spec = &pod["spec"];
        let misfit = node::repelled(node, spec).or_else(|| node::misfit(node, spec));
        if let Some(misfit) = misfit {
            self.count(misfit.text());
            return false;
        }
        let shortages = allocated.shortages(node, pod);
        if !shortages.is_empty() {
            self.full += usize::from(!shortages.iter().any(|one| one.is_hopeless));
            shortages.iter().for_each(|one| self.count(&one.text));
            return false;
        }
        match volumes::fits(handle, pod, node) {
            Some(misfit) => self.count(misfit.text()),
            None => return true,
        }
        false
    }

    fn count(&mut self, why: &str) {
        *self.reasons.entry(why.to_owned()).or_default() += 1;
    }

    /// What a scheduler says: the reasons, and that no other Pod makes room. The simulator preempts no Pod.
    fn text(&self, total: usize) -> String {
        let listed = |reasons: &[(&str, usize)]| {
            let reasons = reasons.iter().filter(|(_, count)| *count > 0);
            let mut texts: Vec<String> = reasons
                .map(|(why, count)| format!("{count} {why}"))
                .collect();
            texts.sort();
            match texts.is_empty() {
                true => format!("0/{total} nodes are available:"),
                false => format!("0/{total} nodes are available: {}.", texts.join(", ")),
            }
        };
        let reasons = self.reasons.iter();
        let reasons: Vec<_> = reasons.map(|(why, count)| (why.as_str(), *count)).collect();
        if total == 0 {
            return "no nodes available to schedule pods".to_owned();
        }
        let preemption = listed(&[
            ("No preemption victims found for incoming pod", self.full),
            (
                "Preemption is not helpful for scheduling",
                total - self.full,
            ),
        ]);
        format!(
            "{} no new claims to deallocate, preemption: {preemption}",
            listed(&reasons)
        )
    }
}

fn unschedulable(handle: &Handle, pod: &Value, text: &str) {
    if report(handle, pod, "Unschedulable", text) {
        record(handle, pod, true, "FailedScheduling", "Scheduling", text);
    }
}

fn record(handle: &Handle, pod: &Value, warning: bool, reason: &str, action: &str, text: &str) {
    let what = Message {
        component: "default-scheduler",
        warning,
        reason,
    };
    events::record_action(handle, pod, what, action, text);
}

/// Reports that a Pod is bound, or with a reason why it is not. Returns whether that is new.
fn report(handle: &Handle, pod: &Value, reason: &str, message: &str) -> bool {
    let now = handle.core().clock.timestamp();
    let mut is_new = false;
    update(handle, &pods(), pod, "status", |pod| {
        let condition = Condition {
            kind: "PodScheduled",
            status: if reason.is_empty() { "True" } else { "False" },
            reason,
            message: message.to_owned(),
        };
        is_new = conditions::set(&mut pod["status"], &condition, false, &now);
    });
    is_new
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::controllers::simulator::object::{condition, nodes, pods};
    use crate::controllers::simulator::world::World;

    fn pod(name: &str, cpu: &str) -> Value {
        let requests = json!({"cpu": cpu, "memory": "1Gi"});
        json!({
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]},
        })
    }

    impl World {
        fn node_of(&self, name: &str) -> Value {
            self.get(&pods(), name)["spec"]["nodeName"].clone()
        }

        /// The message of the condition, which an Event repeats.
        fn refusal(&self, name: &str) -> String {
            let pod = self.get(&pods(), name);
            let scheduled = condition(&pod, "PodScheduled").unwrap();
            assert_eq!(scheduled["status"], "False");
            assert_eq!(scheduled["reason"], "Unschedulable");
            let text = scheduled["message"].as_str().unwrap().to_owned();
            let event = format!("FailedScheduling: {text}");
            assert!(
                self.events(name).contains(&event),
                "{:?}",
                self.events(name)
            );
            text
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_waits_until_a_node_has_room_for_its_requests() {
        let world = World::new();
        world.create(&pods(), pod("first", "5"));
        world.pass(1).await;
        world.create(&pods(), pod("second", "4"));
        world.create(&pods(), pod("third", "3"));
        world.pass(1).await;
        assert_eq!(world.node_of("third"), "sandbox");
        assert_eq!(
            world.refusal("second"),
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No \
             preemption victims found for incoming pod."
        );
        world.delete(&pods(), "first", None);
        world.pass(2).await;
        assert_eq!(world.node_of("second"), "sandbox");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_of_another_scheduler_waits_for_it() {
        let world = World::new();
        let mut other = pod("other", "1");
        other["spec"]["schedulerName"] = json!("mine");
        world.create(&pods(), other);
        world.pass(60).await;
        let waits = world.get(&pods(), "other");
        assert!(world.node_of("other").is_null(), "{waits}");
        assert_eq!(waits["status"]["conditions"], Value::Null);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_no_node_can_ever_take_says_so() {
        let world = World::with_nodes(3);
        world.pass(1).await;
        let cordoned = world
            .handle
            .update(&nodes(), None, "sandbox-2", "", |node| {
                node["spec"]["unschedulable"] = json!(true);
            });
        cordoned.unwrap();
        world.create(&pods(), pod("huge", "8001m"));
        world.pass(1).await;
        assert_eq!(
            world.refusal("huge"),
            "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu. no new claims to deallocate, preemption: 0/3 \
             nodes are available: 3 Preemption is not helpful for scheduling."
        );
        let grown = world
            .handle
            .update(&nodes(), None, "sandbox-3", "status", |node| {
                node["status"]["allocatable"]["cpu"] = json!("9");
            });
        grown.unwrap();
        world.pass(1).await;
        assert_eq!(world.node_of("huge"), "sandbox-3");
    }
}
