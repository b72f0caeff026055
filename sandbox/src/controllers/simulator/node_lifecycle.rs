//! What follows when a node stops: it is marked, and its Pods are evicted.

use std::time::Duration;

use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::events::{self, Message};
use super::node::{is_simulated, settle, toleration};
use super::object::{is_true, nodes, pods, update};
use super::pod_control::is_active;
use super::taint_eviction::evict;
use crate::api::Handle;
use crate::meta;

/// How long the node controller waits for a node that says nothing.
const GRACE: Duration = Duration::from_secs(50);
/// How long a Pod stays on such a node, unless its tolerations say something else. In a cluster, admission adds this as a
/// toleration to each Pod.
const TOLERATED: Duration = Duration::from_secs(300);
pub(super) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Reports whether a node runs, and evicts the Pods of one that does not. Returns the time until the next step.
pub(super) fn reconcile(handle: &Handle, node: &Value) -> Option<Duration> {
    settle(handle, node);
    let name = meta::name(node);
    if !is_simulated(name) {
        return None;
    }
    let Some(since) = handle.core().containers.rules.stopped_since(name) else {
        if !is_true(node, "Ready") {
            report(handle, node, true);
        }
        return None;
    };
    let silent = handle.core().clock.since(since);
    let rest = GRACE.saturating_sub(silent);
    if !rest.is_zero() {
        return Some(rest);
    }
    if is_true(node, "Ready") {
        report(handle, node, false);
    }
    let mut all = handle.list(&pods(), None);
    all.retain(|pod| pod["spec"]["nodeName"] == name && is_active(pod));
    let mut next: Option<Duration> = None;
    for pod in all {
        mark(handle, &pod);
        let Some(tolerated) = tolerated(&pod) else {
            continue;
        };
        let rest = (GRACE + tolerated).saturating_sub(silent);
        if rest.is_zero() {
            evict(handle, &pod);
        } else {
            next = Some(next.map_or(rest, |next| next.min(rest)));
        }
    }
    next
}

/// Sets the condition `Ready` of a node, and its taints.
fn report(handle: &Handle, node: &Value, runs: bool) {
    let now = handle.core().clock.timestamp();
    let (status, reason, message) = match runs {
        true => ("True", "KubeletReady", "simulated"),
        false => (
            "Unknown",
            "NodeStatusUnknown",
            "Kubelet stopped posting node status.",
        ),
    };
    update(handle, &nodes(), node, "status", |node| {
        let condition = Condition {
            kind: "Ready",
            status,
            reason,
            message: message.to_owned(),
        };
        conditions::set(&mut node["status"], &condition, false, &now);
    });
    update(handle, &nodes(), node, "", |node| {
        let taints = node["spec"]["taints"].as_array();
        let mut taints: Vec<Value> = taints.cloned().unwrap_or_default();
        taints.retain(|taint| taint["key"] != UNREACHABLE);
        if !runs {
            for effect in ["NoSchedule", "NoExecute"] {
                taints.push(json!({"key": UNREACHABLE, "effect": effect, "timeAdded": now}));
            }
        }
        if let Some(spec) = node["spec"].as_object_mut()
            && taints.is_empty()
        {
            spec.remove("taints");
        } else {
            node["spec"]["taints"] = taints.into();
        }
    });
    if !runs {
        let name = meta::name(node);
        let text = format!("Node {name} status is now: NodeNotReady");
        record(handle, node, false, "NodeNotReady", &text);
    }
}

/// Reports that a Pod is not ready, because its node is not.
fn mark(handle: &Handle, pod: &Value) {
    if !is_true(pod, "Ready") {
        return;
    }
    let now = handle.core().clock.timestamp();
    update(handle, &pods(), pod, "status", |pod| {
        let condition = Condition {
            kind: "Ready",
            status: "False",
            reason: "",
            message: String::new(),
        };
        conditions::set(&mut pod["status"], &condition, false, &now);
    });
    record(handle, pod, true, "NodeNotReady", "Node is not ready");
}

/// How long a Pod stays on a node that cannot be reached; `None` for ever.
fn tolerated(pod: &Value) -> Option<Duration> {
    let taint = json!({"key": UNREACHABLE, "effect": "NoExecute"});
    let Some(toleration) = toleration(&pod["spec"], &taint) else {
        return Some(TOLERATED);
    };
    let seconds = toleration["tolerationSeconds"].as_i64()?;
    Some(Duration::from_secs(
        u64::try_from(seconds).unwrap_or_default(),
    ))
}

fn record(handle: &Handle, about: &Value, warning: bool, reason: &str, text: &str) {
    let what = Message {
        component: "node-controller",
        warning,
        reason,
    };
    events::record(handle, about, what, text);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{UNREACHABLE, nodes};
    use crate::controllers::simulator::object::{
        condition, deployments, is_true, number, pods, stateful_sets,
    };
    use crate::controllers::simulator::world::World;
    use crate::meta;

    fn workload(replicas: i64) -> Value {
        let labels = json!({"app": "web"});
        json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "nginx"}]},
            }},
        })
    }

    impl World {
        fn node(&self, name: &str) -> Value {
            Value::clone(&self.handle.get(&nodes(), None, name).unwrap())
        }

        fn on(&self, node: &str) -> usize {
            let pods = self.pods();
            let there = pods.iter().filter(|pod| pod["spec"]["nodeName"] == node);
            there.filter(|pod| !meta::is_deleting(pod)).count()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_pods_of_a_stopped_node_move_to_another_one() {
        let world = World::with_nodes(2);
        world.create(&deployments(), workload(4));
        world.pass(10).await;
        assert_eq!((world.on("sandbox"), world.on("sandbox-2")), (2, 2));
        assert!(world.sandbox.pods().stop_node("sandbox-2"));
        world.pass(45).await;
        assert!(is_true(&world.node("sandbox-2"), "Ready"));
        world.pass(10).await;
        let node = world.node("sandbox-2");
        let ready = condition(&node, "Ready").unwrap();
        assert_eq!(
            (&ready["status"], &ready["reason"]),
            (&json!("Unknown"), &json!("NodeStatusUnknown"))
        );
        let taints = node["spec"]["taints"].as_array().unwrap();
        assert!(taints.iter().all(|taint| taint["key"] == UNREACHABLE) && taints.len() == 2);
        let web = || world.get(&deployments(), "web");
        assert_eq!(number(&web(), "/status/readyReplicas"), 2);
        // Pods wait five minutes for their node.
        world.pass(285).await;
        assert_eq!(world.on("sandbox-2"), 2);
        world.pass(20).await;
        assert_eq!((world.on("sandbox"), world.on("sandbox-2")), (4, 0));
        assert_eq!(number(&web(), "/status/readyReplicas"), 4);
        // Nobody ends their containers until the node is back.
        assert_eq!(world.phases().len(), 6);
        assert!(world.sandbox.pods().start_node("sandbox-2"));
        world.pass(5).await;
        assert_eq!(world.phases().len(), 4);
        let node = world.node("sandbox-2");
        assert!(is_true(&node, "Ready") && node["spec"].get("taints").is_none());
        let events = world.events("sandbox-2");
        assert_eq!(
            events,
            ["NodeNotReady: Node sandbox-2 status is now: NodeNotReady"]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_of_a_stateful_set_is_not_replaced_while_its_node_may_still_run_it() {
        let world = World::with_nodes(2);
        world.create(&stateful_sets(), workload(2));
        world.pass(10).await;
        world.sandbox.pods().stop_node("sandbox-2");
        world.pass(1_000).await;
        let pod = world.get(&pods(), "web-1");
        assert!(meta::is_deleting(&pod));
        assert_eq!(
            condition(&pod, "DisruptionTarget").unwrap()["reason"],
            "DeletionByTaintManager"
        );
        world.sandbox.pods().start_node("sandbox-2");
        world.pass(10).await;
        assert_eq!(
            number(&world.get(&stateful_sets(), "web"), "/status/readyReplicas"),
            2
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_stays_for_as_long_as_it_tolerates_the_taint() {
        let world = World::new();
        for (name, seconds) in [("short", json!(10)), ("ever", Value::Null)] {
            let toleration = json!({"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
            world.create(&pods(), json!({
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": [toleration]},
            }));
        }
        world.pass(2).await;
        world.sandbox.pods().stop_node("sandbox");
        world.pass(62).await;
        assert!(meta::is_deleting(&world.get(&pods(), "short")));
        world.pass(2_000).await;
        let pod = world.get(&pods(), "ever");
        assert!(!meta::is_deleting(&pod) && !is_true(&pod, "Ready"));
        world.sandbox.pods().start_node("sandbox");
        world.pass(2).await;
        assert!(is_true(&world.get(&pods(), "ever"), "Ready"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_is_back_within_the_grace_period_loses_nothing() {
        let world = World::new();
        world.create(&deployments(), workload(1));
        world.pass(5).await;
        world.sandbox.pods().stop_node("sandbox");
        world.pass(40).await;
        world.sandbox.pods().start_node("sandbox");
        world.pass(400).await;
        assert!(is_true(&world.node("sandbox"), "Ready"));
        assert_eq!(
            number(&world.get(&deployments(), "web"), "/status/readyReplicas"),
            1
        );
        assert!(!world.sandbox.pods().stop_node("elsewhere"));
    }
}
