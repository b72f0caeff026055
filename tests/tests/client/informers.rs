//! Informers.

use std::{
    sync::{
        Arc, atomic::{AtomicUsize, Ordering}}};

use parking_lot::Mutex;
use pilothouse::{
    Resource, Schema,
    cache::{Event, InformerScope, Informers, SharedInformer},
    client::{Client, DeleteParams, Patch, PatchParams, PostParams},
    crd::{self, CustomResource},
    k8s::api::core::v1::ConfigMap,
    metrics::Metrics,
    resource::{ApiResource, DynamicObject, Object, ObjectKey, ObjectMeta},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{network::proxy, target::Target};

/// The events of a listener as `<kind of event> <name>`.
#[derive(Clone, Default)]
struct ReceivedEvents(Arc<Mutex<Vec<String>>>);

impl ReceivedEvents {
    fn at<K: Object>(informer: &SharedInformer<K>) -> Self {
        let received = Self::default();
        let own = received.clone();
        informer.add_listener(move |event: &Event<K>| {
            let what = match event {
                _ if event.entry().undecodable().is_some() => "undecodable",
                Event::Added { initial: true, .. } => "initial",
                Event::Added { .. } => "added",
                Event::Updated { .. } => "updated",
                Event::Recreated { .. } => "recreated",
                Event::Deleted { .. } => "deleted",
                Event::Resync { .. } => "resync",
            };
            let line = format!("{what} {}", event.key().name());
            // A controller writes the cluster's CA into every namespace.
            if !line.ends_with(" kube-root-ca.crt") {
                own.0.lock().push(line);
            }
        });
        received
    }

    /// Waits until the listener has received exactly these events.
    async fn is(&self, target: &Target, expected: &[&str]) {
        let count = || async { (self.0.lock().len() >= expected.len()).then_some(()) };
        target.until(&format!("{expected:?}"), count).await;
        let mut received = std::mem::take(&mut *self.0.lock());
        // The initial objects come in no particular order.
        let initial = received.iter().take_while(|line| line.starts_with("initial "));
        let initial = initial.count();
        received[..initial].sort();
        assert_eq!(received, expected);
    }
}

fn informers(target: &Target) -> Informers {
    informers_of(&target.client)
}

fn informers_of(client: &Client) -> Informers {
    let informers = Informers::new(client.clone(), Metrics::new());
    informers.start(&CancellationToken::new());
    informers
}

fn here(target: &Target) -> InformerScope {
    InformerScope::all().namespace(&target.namespace)
}

async fn label(target: &Target, name: &str, value: &str) {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"in": value}}}));
    let maps = target.api::<ConfigMap>();
    maps.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

async fn delete(target: &Target, name: &str) {
    let maps = target.api::<ConfigMap>();
    maps.delete(name, &DeleteParams::default()).await.unwrap();
}

pub(crate) async fn a_cache_follows_all_changes(target: &Target) {
    target.map("a", &[]).await;
    let informers = informers(target);
    let informer = informers.informer::<ConfigMap>(here(target));
    let received = ReceivedEvents::at(&informer);
    assert!(informer.synced().await);
    received.is(target, &["initial a"]).await;
    target.map("b", &[]).await;
    label(target, "a", "test").await;
    delete(target, "b").await;
    received.is(target, &["added b", "updated a", "deleted b"]).await;
    let lister = informer.lister();
    let key = ObjectKey::namespaced(&target.namespace, "a");
    let read = lister.get(&key).unwrap().unwrap();
    let served = target.api::<ConfigMap>().get("a").await.unwrap();
    assert_eq!(*read, served);
    assert!(lister.get(&ObjectKey::namespaced(&target.namespace, "b")).unwrap().is_none());
    assert_eq!(informer.status().to_string(), "synced");
    informers.shutdown().await;
}

/// The metadata come first from the server, then from the cache of the whole objects, and then from the server again.
pub(crate) async fn metadata_and_whole_objects_share_a_watch(target: &Target) {
    target.map("a", &[]).await;
    let informers = informers(target);
    let metadata = informers.metadata::<ConfigMap>(here(target));
    let received = ReceivedEvents::at(&metadata);
    assert!(metadata.synced().await);
    received.is(target, &["initial a"]).await;
    let whole = informers.acquire::<ConfigMap>(ApiResource::of::<ConfigMap>(), here(target));
    assert!(whole.synced().await);
    for name in ["b", "c"] {
        target.map(name, &[]).await;
        label(target, "a", name).await;
        delete(target, name).await;
    }
    let added = ["added b", "updated a", "deleted b", "added c", "updated a", "deleted c"];
    received.is(target, &added).await;
    whole.release().await;
    label(target, "a", "d").await;
    received.is(target, &["updated a"]).await;
    let key = ObjectKey::namespaced(&target.namespace, "a");
    let read = metadata.lister().get(&key).unwrap().unwrap();
    let served = target.api::<ConfigMap>().get("a").await.unwrap();
    assert_eq!(read.metadata, served.metadata);
    assert_eq!(metadata.status().to_string(), "synced");
    informers.shutdown().await;
}

pub(crate) async fn a_late_listener_first_receives_the_present_objects(target: &Target) {
    target.map("a", &[]).await;
    let informers = informers(target);
    let informer = informers.informer::<ConfigMap>(here(target));
    let early = ReceivedEvents::at(&informer);
    assert!(informer.synced().await);
    target.map("b", &[]).await;
    early.is(target, &["initial a", "added b"]).await;
    let late = ReceivedEvents::at(&informer);
    late.is(target, &["initial a", "initial b"]).await;
    delete(target, "a").await;
    early.is(target, &["deleted a"]).await;
    late.is(target, &["deleted a"]).await;
    informers.shutdown().await;
}

pub(crate) async fn a_scope_holds_the_objects_that_its_selectors_match(target: &Target) {
    target.map("a", &[("in", "test")]).await;
    target.map("b", &[("in", "other")]).await;
    let informers = informers(target);
    let labelled = informers.informer::<ConfigMap>(here(target).labels("in=test"));
    let named = informers.informer::<ConfigMap>(here(target).fields("metadata.name=b"));
    let (labels, fields) = (ReceivedEvents::at(&labelled), ReceivedEvents::at(&named));
    assert!(labelled.synced().await && named.synced().await);
    labels.is(target, &["initial a"]).await;
    fields.is(target, &["initial b"]).await;
    // An object that stops matching the selector is deleted, an object that starts matching is added.
    label(target, "a", "other").await;
    label(target, "b", "test").await;
    labels.is(target, &["deleted a", "added b"]).await;
    fields.is(target, &["updated b"]).await;
    assert_eq!((labelled.lister().len(), named.lister().len()), (1, 1));
    informers.shutdown().await;
}

/// A buoy.
#[derive(Resource, Clone, Debug)]
#[resource(group = "informers.pilothouse.dev", version = "v1", namespaced)]
struct Buoy {
    metadata: ObjectMeta,
    spec: BuoySpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct BuoySpec {
    colour: String,
}

pub(crate) async fn the_informer_of_a_custom_kind_waits_until_it_is_served(target: &Target) {
    let informers = informers(target);
    let typed = informers.informer::<Buoy>(here(target));
    let maps = informers.informer::<ConfigMap>(here(target));
    assert!(maps.synced().await, "it waits for no other kind");
    let message = || async {
        let status = typed.status();
        status.not_served.then(|| status.to_string())
    };
    let message = target.until("the status reports that the kind is not served", message).await;
    assert!(message.contains("buoys.informers.pilothouse.dev"), "{message}");
    crd::install(&target.client, &[Buoy::crd().unwrap()], "suite").await.unwrap();
    assert!(typed.synced().await);
    let dynamic: SharedInformer<DynamicObject> =
        informers.dynamic(ApiResource::of::<Buoy>(), here(target));
    let (received, also_heard) = (ReceivedEvents::at(&typed), ReceivedEvents::at(&dynamic));
    assert!(dynamic.synced().await);
    let buoy = Buoy {
        metadata: ObjectMeta {
            name: Some("fairway".into()),
            ..Default::default()
        },
        spec: BuoySpec {
            colour: "red".into(),
        },
    };
    let buoys = target.api::<Buoy>();
    buoys.create(&PostParams::default(), &buoy).await.unwrap();
    received.is(target, &["added fairway"]).await;
    also_heard.is(target, &["added fairway"]).await;
    let key = ObjectKey::namespaced(&target.namespace, "fairway");
    assert_eq!(typed.lister().get(&key).unwrap().unwrap().spec.colour, "red");
    buoys.delete("fairway", &DeleteParams::default()).await.unwrap();
    received.is(target, &["deleted fairway"]).await;
    also_heard.is(target, &["deleted fairway"]).await;
    informers.shutdown().await;
}

pub(crate) async fn a_cache_continues_after_its_connection_was_cut(target: &Target) {
    let (mut tunnelled, tunnels) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    let address = proxy(&mut tunnelled, tunnels.clone(), "127.0.0.1:0").await;
    let config = target.config().await;
    let config = config.with_proxy(format!("http://{address}").parse().unwrap());
    let informers = informers_of(&Client::new(config).unwrap());
    for name in ["a", "b"] {
        target.map(name, &[]).await;
    }
    let informer = informers.informer::<ConfigMap>(here(target));
    let received = ReceivedEvents::at(&informer);
    assert!(informer.synced().await);
    received.is(target, &["initial a", "initial b"]).await;
    let before = tunnels.load(Ordering::SeqCst);
    tunnelled.shutdown().await;
    delete(target, "a").await;
    target.map("a", &[]).await;
    delete(target, "b").await;
    proxy(&mut tunnelled, tunnels.clone(), &address.to_string()).await;
    // The server still has the history, so no event is missing.
    received.is(target, &["deleted a", "added a", "deleted b"]).await;
    assert!(tunnels.load(Ordering::SeqCst) > before);
    informers.shutdown().await;
}
