//! Objects outside the scope of every informer of the controller.

use std::sync::Arc;

use parking_lot::Mutex;
use pilothouse::{
    cache::Informers,
    controller::{Action, Context, Controller, Environment, Reconciler, Result},
    k8s::api::core::v1::{ConfigMap, Namespace},
    metrics::Metrics,
    resource::Object,
    testing::{Cluster, Sandbox},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::world::{child, pass};

#[tokio::test(start_paused = true)]
async fn a_key_does_not_wait_for_objects_outside_the_informers_scope() {
    /// Writes a ConfigMap into a namespace that the caches do not watch.
    struct Elsewhere(Arc<Mutex<usize>>);
    impl Reconciler for Elsewhere {
        type Resource = Namespace;
        fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
            controller.owns::<ConfigMap>().concurrency(1)
        }
        async fn reconcile(&self, namespace: Arc<Namespace>, cx: &Context<Namespace>) -> Result {
            if namespace.name() == "web" {
                *self.0.lock() += 1;
                let mut child = child("web", *self.0.lock());
                child.metadata.namespace = Some("web".into());
                cx.apply(child).await?;
            }
            Ok(Action::wait())
        }
    }
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let metrics = Metrics::new();
    let informers = Informers::new(cluster.client().clone(), metrics.clone());
    let client = cluster.client().clone();
    let environment = Environment {
        namespaces: ["default".into()].into(),
        ..Environment::new(informers.clone(), client, metrics.clone(), "test")
    };
    let cancel = CancellationToken::new();
    informers.start(&cancel);
    let calls = Arc::new(Mutex::new(0));
    let controller = Controller::new(Elsewhere(calls.clone()));
    tokio::spawn(controller.run(environment, cancel.clone()));
    cluster.create(&Namespace::named("web")).await.unwrap();
    pass(100).await;
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    cluster.patch::<Namespace>("web", patch).await.unwrap();
    pass(100).await;
    assert!(*calls.lock() >= 2);
    assert_eq!(metrics.value("stale_sync_skips_total", &[]), Some(0.0));
    cancel.cancel();
}
