//! Before the first reconcile every cache must be as new as a consistent list.

use std::sync::Arc;

use pilothouse::{
    cache::{InformerScope, Informers},
    client::{Api, ListParams, ObjectList},
    controller::{Action, Context, Controller, Environment, Reconciler, Result},
    k8s::api::core::v1::{ConfigMap, Secret},
    metrics::Metrics,
    resource::{ApiResource, Object, ObjectKey},
    testing::{Cluster, Sandbox},
};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::world::*;

/// Changes a child and returns the list that an old replica of the API server answers.
async fn old_replica(cluster: &Cluster, changes: usize) -> ObjectList<ConfigMap> {
    cluster.create(&child("web", "first")).await.unwrap();
    let api = cluster.api::<ConfigMap>();
    let old = api.list(&ListParams::default()).await.unwrap();
    for number in 0..changes {
        let patch = json!({"data": {"value": number.to_string()}});
        cluster.patch::<ConfigMap>("web", patch).await.unwrap();
    }
    cluster.create(&Secret::named("web")).await.unwrap();
    old
}

#[tokio::test(start_paused = true)]
async fn without_an_election_no_reconcile_uses_the_state_of_an_old_replica() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let old = old_replica(&cluster, 1000).await;
    let world = World::on(cluster, Writer::default(), |late, _| {
        *late.old.lock() = Some(old);
    });
    let world = world.await;
    world.flows.send_replace(false);
    pass(5000).await;
    assert_eq!(world.writer.saw("web"), seen(&["999"]));
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_until_an_object_that_only_an_old_replica_had_is_gone() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let old = old_replica(&cluster, 0).await;
    cluster.delete::<ConfigMap>("web").await.unwrap();
    let world = World::on(cluster, Writer::default(), |late, _| {
        *late.old.lock() = Some(old);
    });
    let world = world.await;
    world.flows.send_replace(false);
    pass(5000).await;
    assert_eq!(world.writer.saw("web"), [None]);
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_catches_up_by_its_watch_is_not_listed_again() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let old = old_replica(&cluster, 10).await;
    let world = World::on(cluster, Writer::default(), |late, _| {
        *late.old.lock() = Some(old);
    });
    let world = world.await;
    world.flows.send_replace(false);
    pass(500).await;
    assert_eq!(world.writer.count("web"), 0);
    world.flows.send_replace(true);
    pass(100).await;
    assert_eq!(world.writer.saw("web"), seen(&["9"]));
    // One list is from the setup, the other asks for the newest versions.
    assert_eq!(world.requests("list", ""), 2);
}

#[tokio::test(start_paused = true)]
async fn a_source_added_at_run_time_does_not_show_the_state_of_an_old_replica() {
    /// A reconciler that declares no kinds to read.
    struct Idle;
    impl Reconciler for Idle {
        type Resource = Secret;
        async fn reconcile(&self, _: Arc<Secret>, _: &Context<Secret>) -> Result {
            Ok(Action::wait())
        }
    }
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let old = old_replica(&cluster, 1000).await;
    let (client, metrics) = (cluster.client().clone(), Metrics::new());
    let informers = Informers::new(client.clone(), metrics.clone());
    // Its watch sends nothing.
    let (_flows, flows) = watch::channel(false);
    let late = Late {
        api: Api::of(&client, ApiResource::of::<ConfigMap>(), None),
        flows,
        lost: "",
        old: Arc::new(parking_lot::Mutex::new(Some(old))),
    };
    let (kind, scope) = (ApiResource::of::<ConfigMap>(), InformerScope::all());
    let maps = informers.of_source::<ConfigMap, _>(kind, scope, move |_| late.clone());
    let cancel = CancellationToken::new();
    informers.start(&cancel);
    let controller = Controller::new(Idle);
    let sources = controller.sources();
    let environment = Environment::new(informers, client, metrics, "test");
    tokio::spawn(controller.run(environment, cancel.clone()));
    pass(1000).await;
    assert!(sources.reads::<ConfigMap>().synced().await);
    let web = maps.lister().get(&ObjectKey::namespaced("default", "web"));
    assert_eq!(value(&web.unwrap().unwrap()).as_deref(), Some("999"));
    cancel.cancel();
}
