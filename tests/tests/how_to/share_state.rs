//! Two reconcilers that share what they know.

// ANCHOR: recipe
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use pilothouse::{controller::Channel, k8s::api::core::v1::Node, prelude::*, resource::ObjectKey};

use crate::site::{Site, SiteStatus};

/// How many Pods each Node takes. Clones share it.
#[derive(Clone, Default)]
struct Capacity {
    pods: Arc<Mutex<BTreeMap<String, i32>>>,
}

impl Capacity {
    /// Returns whether the sum is another one now.
    fn set(&self, node: &str, pods: Option<i32>) -> bool {
        let mut all = self.pods.lock().unwrap_or_else(PoisonError::into_inner);
        let before: i32 = all.values().sum();
        match pods {
            Some(pods) => all.insert(node.to_owned(), pods),
            None => all.remove(node),
        };
        all.values().sum::<i32>() != before
    }

    fn sum(&self) -> i32 {
        let all = self.pods.lock().unwrap_or_else(PoisonError::into_inner);
        all.values().sum()
    }
}

struct Nodes {
    capacity: Capacity,
    /// Wakes the other controller.
    changed: Channel,
}

impl Reconciler for Nodes {
    type Resource = Node;

    async fn reconcile(&self, node: Arc<Node>, _: &Context<Node>) -> Result<Action> {
        let allocatable = node
            .status
            .as_ref()
            .and_then(|status| status.allocatable.as_ref());
        let pods = allocatable.and_then(|amounts| amounts.get("pods"));
        let pods = pods.map(|pods| pods.0.parse()).transpose()?;
        self.tell(node.name(), pods).await
    }

    async fn deleted(&self, key: &ObjectKey, _: &Context<Node>) -> Result<()> {
        self.tell(key.name(), None).await.map(|_| ())
    }
}

impl Nodes {
    async fn tell(&self, node: &str, pods: Option<i32>) -> Result<Action> {
        if self.capacity.set(node, pods) {
            // The lock is not held here.
            self.changed
                .send(pilothouse::controller::Request::all())
                .await?;
        }
        Ok(Action::wait())
    }
}

struct Sites {
    capacity: Capacity,
    changed: Channel,
}

impl Reconciler for Sites {
    type Resource = Site;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        controller.source(self.changed.stream())
    }

    async fn reconcile(&self, _: Arc<Site>, cx: &Context<Site>) -> Result<Action> {
        let sum = self.capacity.sum();
        cx.modify_status(|status: &mut SiteStatus| status.ready = sum)
            .await?;
        Ok(Action::wait())
    }
}

fn operator() -> Operator {
    let (capacity, changed) = (Capacity::default(), Channel::new());
    let nodes = Nodes {
        capacity: capacity.clone(),
        changed: changed.clone(),
    };
    Operator::new("capacity")
        .controller(nodes)
        .controller(Sites { capacity, changed })
}
// ANCHOR_END: recipe

mod tests {
    use pilothouse::{
        client::{Patch, PatchParams},
        testing::{Cluster, Sandbox},
    };
    use serde_json::json;

    use super::*;
    use crate::world::site;

    fn node(name: &str) -> Node {
        let status = json!({"allocatable": {"pods": "7"}});
        Node {
            status: serde_json::from_value(status).unwrap(),
            ..Node::named(name)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_comes_or_goes_reaches_all_sites() {
        // Without the simulation there are no Nodes at the beginning.
        let cluster = Cluster::with(Sandbox::builder().seed(1)).unwrap();
        let running = cluster.run(operator()).await.unwrap();
        cluster.create(&site("a")).await.unwrap();
        let capacity = |expected: i32| {
            move |site: &Site| {
                let status = site.status.as_ref();
                status.is_some_and(|status| status.ready == expected)
            }
        };
        for (name, sum) in [("one", 7), ("two", 14)] {
            cluster.create(&node(name)).await.unwrap();
            let patch = Patch::Merge(json!({"status": node(name).status}));
            let (nodes, params) = (cluster.api::<Node>(), PatchParams::default());
            nodes.patch_status(name, &params, &patch).await.unwrap();
            cluster.until("a", "know it", capacity(sum)).await.unwrap();
        }
        cluster.delete::<Node>("one").await.unwrap();
        cluster.until("a", "know it", capacity(7)).await.unwrap();
        running.stop().await;
    }
}
