//! Evicts the Pods that do not tolerate a taint of their node with the effect `NoExecute`, as the taint-eviction-controller does.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::conditions::{self, Condition};
use super::events::{self, Message};
use super::node::{is_simulated, toleration};
use super::node_lifecycle::UNREACHABLE;
use super::object::{pods, update};
use super::pod_control::is_active;
use crate::api::{DeleteOptions, Handle};
use crate::clock::Moment;
use crate::meta;

/// Since when Pods tolerate the taints of their nodes for a time only.
#[derive(Default)]
pub(super) struct TaintEviction {
    /// By the UID of the Pod.
    since: BTreeMap<String, Moment>,
}

impl TaintEviction {
    /// Evicts a Pod if it is time. Returns the time until then.
    pub(super) fn reconcile(
        &mut self,
        handle: &Handle,
        pod: &Value,
        node: &Value,
    ) -> Option<Duration> {
        let Some(tolerated) = tolerated(node, &pod["spec"]).filter(|_| is_active(pod)) else {
            self.forget(meta::uid(pod));
            return None;
        };
        let clock = &handle.core().clock;
        let since = self.since.entry(meta::uid(pod).to_owned());
        let since = *since.or_insert_with(|| clock.moment());
        let rest = tolerated.saturating_sub(clock.since(since));
        if rest.is_zero() {
            self.forget(meta::uid(pod));
            evict(handle, pod);
            return None;
        }
        Some(rest)
    }

    pub(super) fn forget(&mut self, uid: &str) {
        self.since.remove(uid);
    }
}

/// How long a Pod tolerates the taints of a node; `None` for ever.
fn tolerated(node: &Value, spec: &Value) -> Option<Duration> {
    let taints = node.pointer("/spec/taints").and_then(Value::as_array)?;
    // What follows when a simulated node stops begins before it is tainted.
    let is_own = |taint: &Value| taint["key"] == UNREACHABLE && is_simulated(meta::name(node));
    let taints = taints
        .iter()
        .filter(|taint| taint["effect"] == "NoExecute" && !is_own(taint));
    let times = taints.filter_map(|taint| match toleration(spec, taint) {
        None => Some(Duration::ZERO),
        Some(toleration) => {
            let seconds = toleration["tolerationSeconds"].as_i64()?;
            Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
        }
    });
    times.min()
}

/// Deletes a Pod because of a taint.
pub(super) fn evict(handle: &Handle, pod: &Value) {
    let now = handle.core().clock.timestamp();
    update(handle, &pods(), pod, "status", |pod| {
        let condition = Condition {
            kind: "DisruptionTarget",
            status: "True",
            reason: "DeletionByTaintManager",
            message: "Taint manager: deleting due to NoExecute taint".to_owned(),
        };
        conditions::set(&mut pod["status"], &condition, false, &now);
    });
    let (namespace, name) = (meta::text(pod, "namespace"), meta::name(pod));
    let options = DeleteOptions {
        uid: Some(meta::uid(pod).to_owned()),
        ..DeleteOptions::default()
    };
    // An error means that it is gone already.
    let _ = handle.delete(&pods(), Some(namespace), name, &options);
    let text = format!("Marking for deletion Pod {namespace}/{name}");
    let what = Message {
        component: "taint-eviction-controller",
        warning: false,
        reason: "TaintManagerEviction",
    };
    events::record(handle, pod, what, &text);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::controllers::simulator::object::{condition, nodes, pods};
    use crate::controllers::simulator::world::World;
    use crate::meta;

    fn pod(name: &str, toleration: Option<Value>) -> Value {
        json!({
            "metadata": {"name": name, "namespace": "default", "finalizers": ["example.com/seen"]},
            "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": toleration.into_iter().collect::<Vec<_>>()},
        })
    }

    impl World {
        fn set_taints(&self, taints: Value) {
            let changed = self.handle.update(&nodes(), None, "sandbox", "", |node| {
                node["spec"]["taints"] = taints.clone();
            });
            changed.unwrap();
        }

        fn is_leaving(&self, name: &str) -> bool {
            meta::is_deleting(&self.get(&pods(), name))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_taint_evicts_the_pods_that_do_not_tolerate_it() {
        let world = World::new();
        let key = "example.com/broken";
        let tolerates = |seconds: Value| {
            Some(
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}),
            )
        };
        world.create(&pods(), pod("none", None));
        world.create(&pods(), pod("short", tolerates(json!(30))));
        world.create(&pods(), pod("ever", tolerates(Value::Null)));
        world.pass(2).await;
        world.set_taints(json!([{"key": key, "effect": "NoSchedule"}]));
        world.pass(60).await;
        assert!(!world.is_leaving("none"));
        world.set_taints(json!([{"key": key, "effect": "NoExecute"}]));
        world.pass(1).await;
        let evicted = world.get(&pods(), "none");
        assert!(meta::is_deleting(&evicted));
        let why = condition(&evicted, "DisruptionTarget").unwrap();
        assert_eq!(why["reason"], "DeletionByTaintManager");
        let events = world.events("none");
        let text = "TaintManagerEviction: Marking for deletion Pod default/none";
        assert!(events.iter().any(|event| event == text), "{events:?}");
        world.pass(28).await;
        assert!(!world.is_leaving("short"));
        world.pass(2).await;
        assert!(world.is_leaving("short"));
        world.pass(1_000).await;
        assert!(!world.is_leaving("ever"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_taint_that_goes_in_time_evicts_nothing() {
        let world = World::new();
        let toleration =
            json!({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30});
        world.create(&pods(), pod("one", Some(toleration)));
        world.pass(2).await;
        world.set_taints(json!([{"key": "a", "effect": "NoExecute"}]));
        world.pass(20).await;
        world.set_taints(json!([]));
        world.pass(100).await;
        world.set_taints(json!([{"key": "a", "effect": "NoExecute"}]));
        world.pass(20).await;
        assert!(
            !world.is_leaving("one"),
            "the time counts from the new taint"
        );
    }
}
