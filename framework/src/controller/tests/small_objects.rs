//! Small objects are decoded when they arrive, if a controller or an index reads each of them.

use std::sync::Arc;

use http::Uri;
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Secret, ServiceAccount};
use pilothouse_sandbox::Sandbox;

use super::world::*;
use crate::{
    cache::{Index, InformerScope},
    client::{Api, Client, Config, PostParams},
    controller::{Controller, Mapping, Owned, Predicate, Read, Watched},
    resource::{Namespaced, Resource},
};

/// A sandbox with an object `a` of four kinds.
async fn world() -> World {
    let sandbox = Sandbox::builder().seed(1).build().unwrap();
    let client = Client::builder(Config::new(Uri::from_static("http://sandbox")))
        .connector(Arc::new(move || Ok(sandbox.connect())))
        .build()
        .unwrap();
    create::<ConfigMap>(&client).await;
    create::<Secret>(&client).await;
    create::<Endpoints>(&client).await;
    create::<ServiceAccount>(&client).await;
    World::with_client(client)
}

async fn create<K: Resource<Scope = Namespaced> + Default>(client: &Client) {
    let mut object = K::default();
    object.metadata_mut().name = Some("a".to_owned());
    let api = Api::<K>::namespaced(client, "default");
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// Whether the cache stores the object decoded.
fn is_decoded<K: Resource>(world: &World) -> bool {
    let informer = world.informers.informer::<K>(InformerScope::all());
    let snapshot = informer.lister().snapshot();
    let entry = snapshot.entry(&named_key("a"));
    entry.expect("the object").packed_size().is_none()
}

async fn start(
    world: &World,
    wire: impl Fn(Controller<Probe<ConfigMap>>) -> Controller<Probe<ConfigMap>> + Send + Sync + 'static,
) {
    let probe = Probe::<ConfigMap>::new().wired(wire);
    let calls = probe.calls.clone();
    world.start(Controller::new(probe));
    pass(1000).await;
    assert!(calls.keys().contains(&"default/a".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_a_controller_reads_for_each_object_is_decoded_when_it_arrives() {
    let world = world().await;
    start(&world, |controller| {
        let updates = Predicate::<Endpoints>::new(|_, _| true);
        controller
            .watches(|_: &Secret| Vec::new())
            .watch(Owned::<Endpoints>::new().when(updates))
    })
    .await;
    assert!(is_decoded::<ConfigMap>(&world), "the reconciled kind");
    assert!(is_decoded::<Secret>(&world), "the mapping reads it");
    assert!(is_decoded::<Endpoints>(&world), "the predicate reads it");
}

#[tokio::test(start_paused = true)]
async fn what_needs_metadata_only_is_not_decoded() {
    let world = world().await;
    start(&world, |controller| {
        let generations = Predicate::<Endpoints>::generation();
        controller
            .watch(Watched::new(Mapping::<Secret>::metadata(|_| Vec::new())))
            .watch(Owned::<Endpoints>::new().when(generations))
            .watch(Read::<ServiceAccount>::new())
    })
    .await;
    assert!(!is_decoded::<Secret>(&world));
    assert!(!is_decoded::<Endpoints>(&world));
    assert!(!is_decoded::<ServiceAccount>(&world));
}

#[tokio::test(start_paused = true)]
async fn what_an_index_reads_is_decoded_when_it_arrives_unless_it_needs_labels_only() {
    let world = world().await;
    let secrets = world.informers.informer::<Secret>(InformerScope::all());
    let maps = world.informers.informer::<ConfigMap>(InformerScope::all());
    let _of_objects = secrets.add_index(Index::by(|secret: &Secret| secret.type_.clone()));
    let _of_labels = maps.add_index(Index::label("app"));
    assert!(secrets.synced().await && maps.synced().await);
    assert!(is_decoded::<Secret>(&world));
    assert!(!is_decoded::<ConfigMap>(&world));
}
