//! Deletes the Pods of nodes that do not exist, as the pod-garbage-collector does.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::conditions::{self, Condition};
use super::object::{pods, update};
use super::pod_control::{has_ended, remove};
use crate::api::Handle;
use crate::clock::Moment;
use crate::meta;

/// How long a node has to be missing until its Pods are deleted.
const QUARANTINE: Duration = Duration::from_secs(40);

/// Since when the nodes of Pods are missing.
#[derive(Default)]
pub(super) struct PodGc {
    /// By the UID of the Pod.
    since: BTreeMap<String, Moment>,
}

impl PodGc {
    /// Deletes a Pod whose node does not exist if it is time. Returns the time until then.
    pub(super) fn reconcile(&mut self, handle: &Handle, pod: &Value) -> Option<Duration> {
        let clock = &handle.core().clock;
        let since = self.since.entry(meta::uid(pod).to_owned());
        let since = *since.or_insert_with(|| clock.moment());
        let rest = QUARANTINE.saturating_sub(clock.since(since));
        if !rest.is_zero() {
            return Some(rest);
        }
        self.forget(meta::uid(pod));
        collect(handle, pod);
        None
    }

    pub(super) fn forget(&mut self, uid: &str) {
        self.since.remove(uid);
    }
}

fn collect(handle: &Handle, pod: &Value) {
    let now = handle.core().clock.timestamp();
    if !has_ended(pod) {
        update(handle, &pods(), pod, "status", |pod| {
            let condition = Condition {
                kind: "DisruptionTarget",
                status: "True",
                reason: "DeletionByPodGC",
                message: "PodGC: node no longer exists".to_owned(),
            };
            conditions::set(&mut pod["status"], &condition, false, &now);
            pod["status"]["phase"] = json!("Failed");
        });
    }
    remove(handle, pod);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::api::DeleteOptions;
    use crate::controllers::simulator::object::{condition, deployments, nodes, number, pods};
    use crate::controllers::simulator::world::World;
    use crate::meta;

    #[tokio::test(start_paused = true)]
    async fn the_pods_of_a_deleted_node_are_deleted_and_replaced_on_another_one() {
        let world = World::with_nodes(2);
        let labels = json!({"app": "web"});
        world.create(
            &deployments(),
            json!({
                "metadata": {"name": "web", "namespace": "default"},
                "spec": {"replicas": 4, "selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "c", "image": "nginx"}]},
                }},
            }),
        );
        world.create(&pods(), json!({
            "metadata": {"name": "held", "namespace": "default", "finalizers": ["example.com/seen"]},
            "spec": {"containers": [{"name": "c", "image": "nginx"}], "nodeName": "sandbox-2"},
        }));
        world.pass(5).await;
        let options = DeleteOptions::default();
        let deleted = world.handle.delete(&nodes(), None, "sandbox-2", &options);
        deleted.unwrap();
        world.pass(38).await;
        assert_eq!(world.phases().len(), 5, "a node may come back");
        world.pass(10).await;
        let held = world.get(&pods(), "held");
        assert!(meta::is_deleting(&held));
        assert_eq!(held["status"]["phase"], "Failed");
        let why = condition(&held, "DisruptionTarget").unwrap();
        assert_eq!(why["reason"], "DeletionByPodGC");
        let web = world.get(&deployments(), "web");
        assert_eq!(number(&web, "/status/readyReplicas"), 4);
        let mut pods = world.pods();
        pods.retain(|pod| meta::name(pod) != "held");
        assert_eq!(pods.len(), 4);
        assert!(pods.iter().all(|pod| pod["spec"]["nodeName"] == "sandbox"));
    }
}
