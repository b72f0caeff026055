//! The first reconcile: no cache may be older than a consistent list.

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

/// A child at its newest state, and what a replica of the API server that is behind answers of it.
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
async fn without_an_election_too_nothing_is_reconciled_on_what_an_old_replica_had() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let old = old_replica(&cluster, 1000).await;
    let world = World::on(cluster, Writer::default(), |late, _| {
        *late.old.lock().unwrap() = Some(old);
    });
    let world = world.await;
    world.flows.send_replace(false);
    pass(5000).await;
    assert_eq!(world.writer.saw("web"), seen(&["999"]));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_an_old_replica_still_had_is_waited_for_to_go() {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(false)).unwrap();
    let old = old_replica(&cluster, 0).await;
    cluster.delete::<ConfigMap>("web").await.unwrap();
    let world = World::on(cluster, Writer::default(), |late, _| {
        *late.old.lock().unwrap() = Some(old);
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
        *late.old.lock().unwrap() = Some(old);
    });
    let world = world.await;
    world.flows.send_replace(false);
    pass(500).await;
    assert_eq!(world.writer.count("web"), 0);
    world.flows.send_replace(true);
    pass(100).await;
    assert_eq!(world.writer.saw("web"), seen(&["9"]));
    // That of the arrangement, and the one that asks for the newest versions.
    assert_eq!(world.requests("list", ""), 2);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_added_while_the_controller_works_is_not_read_as_an_old_replica_had_it() {
    /// Reads nothing of its own accord.
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
    // Its watch says nothing.
    let (_flows, flows) = watch::channel(false);
    let late = Late {
        api: Api::of(&client, ApiResource::of::<ConfigMap>(), None),
        flows,
        lost: "",
        old: Arc::new(std::sync::Mutex::new(Some(old))),
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
