//! A key also waits for its own reconciled object.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use pilothouse::{
    k8s::api::apps::v1::{Deployment, DeploymentStatus},
    operator::{Operator, Running},
    prelude::*,
    resource::AccessRule,
    testing::{Cluster, RequestMatcher, Sandbox},
};
use serde_json::json;

use super::world::pass;

/// Counts its calls in the status.
struct Counter(Arc<Mutex<Vec<i32>>>);

impl Reconciler for Counter {
    type Resource = Deployment;

    fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
        let status = AccessRule::of::<Deployment>(["patch"]).subresource("status");
        controller.access(status)
    }

    async fn reconcile(&self, object: Arc<Deployment>, cx: &Context<Deployment>) -> Result<Action> {
        let status = object.status.as_ref();
        let saw = status.and_then(|one| one.replicas).unwrap_or_default();
        self.0.lock().push(saw);

        cx.update_status(DeploymentStatus {
            replicas: Some(saw + 1),
            ..DeploymentStatus::default()
        })
        .await?;
        Ok(Action::requeue_after(Duration::from_secs(1)))
    }
}

/// Starts a cluster with a Deployment and the `Counter`.
async fn counting(saw: &Arc<Mutex<Vec<i32>>>) -> (Cluster, Running) {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let operator = Operator::new("test").controller(Counter(saw.clone()));
    let running = cluster.run(operator).await.unwrap();
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "a", "image": "a"}]},
            },
        },
    });
    let deployment: Deployment = serde_json::from_value(deployment).unwrap();
    cluster.create(&deployment).await.unwrap();
    (cluster, running)
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_sees_the_status_that_its_predecessor_wrote() {
    let saw = Arc::<Mutex<Vec<i32>>>::default();
    let (cluster, running) = counting(&saw).await;
    pass(500).await;
    let deployments = RequestMatcher::any().resource("deployments");
    cluster.faults().hold_watches(deployments);
    pass(5000).await;
    assert_eq!(*saw.lock(), [0, 1]);
    cluster.faults().release_watches();
    pass(2500).await;
    assert_eq!(*saw.lock(), [0, 1, 2, 3, 4]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_status_update_for_a_deleted_object_is_not_a_failure() {
    let saw = Arc::<Mutex<Vec<i32>>>::default();
    let (cluster, running) = counting(&saw).await;
    pass(500).await;
    let deployments = RequestMatcher::any().resource("deployments");
    cluster.faults().hold_watches(deployments);
    cluster.delete::<Deployment>("web").await.unwrap();
    pass(15_000).await;
    let calls = saw.lock().len();
    assert!(calls > 2, "{calls}");
    let metrics = running.metrics().encode();
    let failures = "controller_runtime_reconcile_errors_total{controller=\"deployment\"} 0\n";
    assert!(metrics.contains(failures), "{metrics}");
    cluster.faults().release_watches();
    cluster.settle().await;
    let calls = saw.lock().len();
    pass(60_000).await;
    assert_eq!(saw.lock().len(), calls);
    running.stop().await;
}
