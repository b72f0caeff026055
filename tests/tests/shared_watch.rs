//! An informer of metadata reads from the informer of the whole objects: one list and one watch for both, and nothing is missed
//! when the other informer comes, lists again, fails or ends. Over the whole stack, with the sandbox, on the paused clock.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use pilothouse::{
    cache::{Event, Index, InformerGuard, InformerScope, Informers, ListBudget, SharedInformer},
    client::{Api, ListParams, Patch, PatchParams},
    k8s::api::core::v1::ConfigMap,
    metrics::Metrics,
    resource::{ApiResource, DynamicObject, Object, ObjectKey, ObjectMeta, PartialObject},
    testing::Cluster,
};
use pilothouse_sandbox::{Answer, RequestMatcher};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

type Metadata = PartialObject<ConfigMap>;

fn maps() -> ApiResource {
    ApiResource::of::<ConfigMap>()
}

fn of_maps() -> RequestMatcher {
    RequestMatcher::any().resource("configmaps")
}

fn default() -> InformerScope {
    InformerScope::all().namespace("default")
}

/// A small object, which a cache stores decoded if an index reads it, or a large one, which is stored as bytes.
fn map(name: &str, label: &str, is_large: bool) -> ConfigMap {
    let text = "x".repeat(if is_large { 4000 } else { 1 });
    let mut map = ConfigMap {
        data: Some([("text".to_owned(), text)].into()),
        ..ConfigMap::named(name)
    };
    map.metadata.labels = Some([("at".to_owned(), label.to_owned())].into());
    map
}

async fn label(cluster: &Cluster, name: &str, label: &str) {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"at": label}}}));
    let api = cluster.api::<ConfigMap>();
    let patched = api.patch(name, &PatchParams::default(), &patch).await;
    patched.unwrap();
}

fn start(cluster: &Cluster) -> Informers {
    let informers = Informers::new(cluster.client().clone(), Metrics::new());
    informers.start(&CancellationToken::new());
    informers
}

fn acquire(informers: &Informers) -> InformerGuard<ConfigMap> {
    informers.acquire(maps(), default())
}

/// What a listener of the metadata has received, put together.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<BTreeMap<String, String>>>);

impl Seen {
    fn of(informer: &SharedInformer<Metadata>) -> Self {
        let seen = Self::default();
        let own = seen.clone();
        informer.add_listener(move |event| {
            let entry = event.entry();
            let mut objects = own.0.lock();
            let name = event.key().to_string();
            let version = entry.resource_version().unwrap_or_default().to_owned();
            let before = match event {
                Event::Deleted { .. } => objects.remove(&name),
                _ => objects.insert(name.clone(), version.clone()),
            };
            match event {
                Event::Added { .. } => assert_eq!(before, None, "{name} is added twice"),
                _ => assert!(before.is_some(), "{event:?}, and nobody knew it"),
            }
            if let (Some(before), false) = (before, matches!(event, Event::Deleted { .. })) {
                let number = |version: &str| version.parse::<u64>().unwrap();
                assert!(
                    number(&before) < number(&version),
                    "{event:?} after {before}"
                );
            }
        });
        seen
    }
}

/// What the server has.
async fn served(cluster: &Cluster) -> BTreeMap<String, String> {
    let api = Api::<Metadata>::namespaced(cluster.client(), "default");
    let list = api.list(&ListParams::default()).await.unwrap();
    let objects = list.items.iter();
    let objects = objects.map(|map| {
        (
            map.key().to_string(),
            map.resource_version().unwrap().to_owned(),
        )
    });
    objects.collect()
}

/// What the cache has, read in each way.
fn cached(informer: &SharedInformer<Metadata>) -> BTreeMap<String, String> {
    let listed = informer.lister().list();
    assert!(listed.undecodable.is_empty());
    let objects = listed.items.iter();
    let objects = objects.map(|map| {
        (
            map.key().to_string(),
            map.resource_version().unwrap().to_owned(),
        )
    });
    objects.collect()
}

fn at(informer: &SharedInformer<Metadata>, name: &str) -> Option<String> {
    let key = ObjectKey::namespaced("default", name);
    let object = informer.lister().get(&key).unwrap()?;
    object.label("at").map(str::to_owned)
}

fn reads(cluster: &Cluster) -> Vec<String> {
    let requests = cluster.requests();
    let reads = requests.into_iter().filter(|request| {
        request.resource == "configmaps" && matches!(&*request.verb, "list" | "watch")
    });
    reads.map(|request| request.verb).collect()
}

#[tokio::test(start_paused = true)]
async fn whole_objects_and_their_metadata_have_one_list_and_one_watch() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&map("small", "1", false)).await.unwrap();
    cluster.create(&map("large", "1", true)).await.unwrap();
    cluster.forget_requests();
    // The metadata first, and a list at a time: it must not take the only place from the list it waits for.
    let budget = ListBudget::new(1);
    let informers = Informers::with_budget(cluster.client().clone(), Metrics::new(), budget);
    let metadata = informers.metadata::<ConfigMap>(default());
    let seen = Seen::of(&metadata);
    let whole = informers.informer::<ConfigMap>(default());
    let _reads_objects = whole.add_index(Index::by(|map: &ConfigMap| map.data.clone()));
    let began = Instant::now();
    informers.start(&CancellationToken::new());
    assert!(metadata.synced().await);
    assert!(began.elapsed() < Duration::from_secs(5));
    cluster.settle().await;
    assert_eq!(reads(&cluster), ["watch"], "the list is streamed");

    for name in ["small", "large"] {
        label(&cluster, name, "2").await;
        cluster.settle().await;
        assert_eq!(at(&metadata, name).as_deref(), Some("2"));
    }
    cluster.delete::<ConfigMap>("small").await.unwrap();
    cluster.delete::<ConfigMap>("large").await.unwrap();
    cluster.create(&map("large", "3", true)).await.unwrap();
    cluster.settle().await;
    assert_eq!(at(&metadata, "large").as_deref(), Some("3"));
    assert!(reads(&cluster).iter().all(|verb| verb == "watch"));
    let key = ObjectKey::namespaced("default", "large");
    let object = metadata.lister().get(&key).unwrap().unwrap();
    let in_whole = whole.lister().get(&key).unwrap().unwrap();
    assert_eq!(object.metadata, in_whole.metadata);
    assert_eq!(cached(&metadata), served(&cluster).await);
    assert_eq!(*seen.0.lock(), cached(&metadata));

    // Nothing else has happened, but the server says so with a bookmark.
    sleep(Duration::from_secs(600)).await;
    let version = |version: Option<&str>| version.unwrap().parse::<u64>().unwrap();
    let reached = version(metadata.lister().snapshot().resource_version());
    assert_eq!(
        reached,
        version(whole.lister().snapshot().resource_version())
    );
    assert_eq!(metadata.status().last_error, None);
    assert_eq!(cluster.faults().running_watches(&of_maps()), 1);
    assert!(informers.shutdown().await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_kind_known_only_at_run_time_share_a_watch_too() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&map("large", "1", true)).await.unwrap();
    let informers = start(&cluster);
    let metadata = informers.of::<PartialObject>(maps(), default());
    let whole: SharedInformer<DynamicObject> = informers.dynamic(maps(), default());
    assert!(metadata.synced().await && whole.synced().await);
    label(&cluster, "large", "2").await;
    cluster.settle().await;
    let key = ObjectKey::namespaced("default", "large");
    let object = metadata.lister().get(&key).unwrap().unwrap();
    assert_eq!(object.label("at"), Some("2"));
    assert_eq!(cluster.faults().running_watches(&of_maps()), 1);
    assert!(informers.shutdown().await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_of_whole_objects_may_come_later_and_end_earlier() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&map("a", "1", true)).await.unwrap();
    let informers = start(&cluster);
    let metadata = informers.metadata::<ConfigMap>(default());
    let seen = Seen::of(&metadata);
    assert!(metadata.synced().await);
    assert_eq!(cluster.faults().running_watches(&of_maps()), 1);

    let whole = acquire(&informers);
    assert!(whole.synced().await);
    sleep(Duration::from_millis(100)).await;
    assert_eq!(cluster.faults().running_watches(&of_maps()), 1);
    label(&cluster, "a", "2").await;
    cluster.settle().await;
    assert_eq!(at(&metadata, "a").as_deref(), Some("2"));

    cluster.forget_requests();
    whole.release().await;
    label(&cluster, "a", "3").await;
    cluster.create(&map("b", "1", false)).await.unwrap();
    cluster.settle().await;
    assert_eq!(at(&metadata, "a").as_deref(), Some("3"));
    assert_eq!(reads(&cluster), ["watch"], "from the version that it had");
    assert_eq!(cluster.faults().running_watches(&of_maps()), 1);
    assert_eq!(cached(&metadata), served(&cluster).await);
    assert_eq!(*seen.0.lock(), cached(&metadata));
    assert!(informers.shutdown().await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_has_begun_is_read_to_its_end() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&map("a", "1", true)).await.unwrap();
    cluster.forget_requests();
    let first = of_maps().verb("watch");
    cluster
        .faults()
        .delay_responses(first, Duration::from_secs(5), 1);
    let informers = start(&cluster);
    let metadata = informers.metadata::<ConfigMap>(default());
    cluster.settle().await;
    let whole = informers.informer::<ConfigMap>(default());
    assert!(whole.synced().await && !metadata.has_synced());
    assert!(metadata.synced().await);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(reads(&cluster), ["watch", "watch"], "one for each of them");
    assert_eq!(cluster.faults().running_watches(&of_maps()), 1);
    assert!(informers.shutdown().await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_of_the_other_informer_brings_the_deletions_that_no_watch_has_told() {
    let cluster = Cluster::start().unwrap();
    for name in ["a", "b", "c"] {
        cluster.create(&map(name, "1", name == "a")).await.unwrap();
    }
    let metrics = Metrics::new();
    let informers = Informers::new(cluster.client().clone(), metrics.clone());
    informers.start(&CancellationToken::new());
    let whole = informers.informer::<ConfigMap>(default());
    let metadata = informers.metadata::<ConfigMap>(default());
    let seen = Seen::of(&metadata);
    assert!(metadata.synced().await && whole.synced().await);
    let refused = Answer::status(429, "TooManyRequests").retry_after(Duration::from_secs(5));
    cluster.faults().answer(of_maps().verb("watch"), refused, 1);
    cluster.faults().drop_watches(&of_maps());
    cluster.settle().await;
    cluster.delete::<ConfigMap>("b").await.unwrap();
    cluster.delete::<ConfigMap>("c").await.unwrap();
    cluster.create(&map("c", "2", true)).await.unwrap();
    cluster.faults().compact();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(cached(&metadata), served(&cluster).await);
    assert_eq!(*seen.0.lock(), cached(&metadata));
    assert_eq!(cluster.faults().running_watches(&of_maps()), 1);

    // One list after the other is no failure of the metadata.
    let errors = || metrics.informer("", "v1", "configmaps").errors.get();
    let before = errors();
    for _ in 0..5 {
        whole.relist();
        sleep(Duration::from_secs(4)).await;
    }
    assert_eq!(errors(), before);
    assert!(informers.shutdown().await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restored_server_does_not_stop_the_metadata() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&map("a", "1", true)).await.unwrap();
    let backup = cluster.sandbox().snapshot();
    let informers = start(&cluster);
    let whole = informers.informer::<ConfigMap>(default());
    let metadata = informers.metadata::<ConfigMap>(default());
    assert!(metadata.synced().await && whole.synced().await);
    for name in ["b", "c", "d"] {
        cluster.create(&map(name, "1", false)).await.unwrap();
    }
    cluster.settle().await;
    cluster.sandbox().restore(&backup);
    cluster.faults().drop_watches(&of_maps());
    sleep(Duration::from_secs(120)).await;
    assert_eq!(cached(&metadata), served(&cluster).await);
    label(&cluster, "a", "2").await;
    sleep(Duration::from_secs(400)).await;
    assert_eq!(cached(&metadata), served(&cluster).await);
    assert_eq!(cluster.faults().running_watches(&of_maps()), 1);
    assert!(informers.shutdown().await);
    cluster.stop().await;
}

/// A ConfigMap whose values are numbers, which they never are.
#[derive(Debug, Deserialize, Serialize)]
struct Numbers {
    metadata: ObjectMeta,
    data: BTreeMap<String, u32>,
}

impl Object for Numbers {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[tokio::test(start_paused = true)]
async fn the_metadata_of_an_object_that_does_not_decode_is_read() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&map("known", "1", true)).await.unwrap();
    cluster.create(&map("unread", "1", true)).await.unwrap();
    let metrics = Metrics::new();
    let informers = Informers::new(cluster.client().clone(), metrics.clone());
    informers.start(&CancellationToken::new());
    let whole = informers.of::<Numbers>(maps(), default());
    assert!(whole.synced().await);
    let key = ObjectKey::namespaced("default", "known");
    assert!(whole.lister().get(&key).is_err());
    cluster.settle().await;
    // The place of the object in the other cache has no bytes any more.
    let metadata = informers.metadata::<ConfigMap>(default());
    assert!(metadata.synced().await);
    assert_eq!(cached(&metadata), served(&cluster).await);
    assert_eq!(cluster.faults().running_watches(&of_maps()), 2);

    // Both read the same watch as long as nobody knows of such an object.
    cluster.delete::<ConfigMap>("known").await.unwrap();
    sleep(Duration::from_secs(900)).await;
    assert_eq!(cluster.faults().running_watches(&of_maps()), 1);
    cluster.create(&map("short", "1", true)).await.unwrap();
    cluster.settle().await;
    assert_eq!(at(&metadata, "short").as_deref(), Some("1"));
    let errors = metrics.informer("", "v1", "configmaps").errors;
    label(&cluster, "unread", "2").await;
    cluster.delete::<ConfigMap>("short").await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(at(&metadata, "short"), None);
    assert_eq!(errors.get(), 0, "an old version of it is no step back");
    let key = ObjectKey::namespaced("default", "unread");
    assert!(whole.lister().get(&key).is_err());
    label(&cluster, "unread", "3").await;
    sleep(Duration::from_secs(900)).await;
    assert_eq!(at(&metadata, "unread").as_deref(), Some("3"));
    assert_eq!(metadata.undecodable().len(), 0);
    assert!(informers.shutdown().await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_transform_removes_from_whole_objects_is_in_the_metadata() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&map("a", "1", true)).await.unwrap();
    let informers = Informers::builder(cluster.client().clone(), Metrics::new());
    let informers = informers.transform::<ConfigMap>(|map| {
        map.metadata.labels = None;
        Ok(())
    });
    let informers = informers.build();
    let metadata = informers.metadata::<ConfigMap>(default());
    let whole = informers.informer::<ConfigMap>(default());
    informers.start(&CancellationToken::new());
    assert!(metadata.synced().await && whole.synced().await);
    assert_eq!(at(&metadata, "a").as_deref(), Some("1"));
    assert_eq!(cluster.faults().running_watches(&of_maps()), 2);
    assert!(informers.shutdown().await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_somebody_asks_for_is_read_from_the_server() {
    let cluster = Cluster::start().unwrap();
    // More than the server sends in one piece.
    for number in 0..600 {
        let map = map(&format!("map-{number}"), "1", number % 100 == 0);
        cluster.create(&map).await.unwrap();
    }
    let informers = start(&cluster);
    let whole = informers.informer::<ConfigMap>(default());
    let metadata = informers.metadata::<ConfigMap>(default());
    assert!(metadata.synced().await && whole.synced().await);
    cluster.forget_requests();
    metadata.relist();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(reads(&cluster), ["watch"], "the list is streamed");
    for round in 2..4 {
        label(&cluster, "map-0", &round.to_string()).await;
        cluster.settle().await;
        assert_eq!(at(&metadata, "map-0"), Some(round.to_string()));
    }
    sleep(Duration::from_secs(120)).await;
    assert_eq!(reads(&cluster), ["watch"]);
    assert_eq!(cluster.faults().running_watches(&of_maps()), 1);
    assert_eq!(metadata.status().last_error, None);
    assert!(informers.shutdown().await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_whole_objects_do_not_stay_with_their_metadata() {
    let cluster = Cluster::start().unwrap();
    let mut large = map("large", "1", true);
    large.data = Some([("text".to_owned(), "x".repeat(500_000))].into());
    cluster.create(&large).await.unwrap();
    let metrics = Metrics::new();
    let informers = Informers::new(cluster.client().clone(), metrics.clone());
    informers.start(&CancellationToken::new());
    let whole = acquire(&informers);
    let metadata = informers.metadata::<ConfigMap>(default());
    assert!(metadata.synced().await && whole.synced().await);
    cluster.settle().await;
    let bytes = || {
        let label = [("resource", "configmaps")];
        metrics
            .value("pilothouse_informer_object_bytes", &label)
            .unwrap()
    };
    assert!((500_000.0..510_000.0).contains(&bytes()), "{}", bytes());
    whole.release().await;
    cluster.settle().await;
    assert_eq!(at(&metadata, "large").as_deref(), Some("1"));
    assert!((1.0..5000.0).contains(&bytes()), "{}", bytes());
    assert!(informers.shutdown().await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_metadata_that_waits_for_whole_objects() {
    let cluster = Cluster::start().unwrap();
    cluster.faults().partition(of_maps());
    let informers = start(&cluster);
    let _whole = informers.informer::<ConfigMap>(default());
    let metadata = informers.metadata::<ConfigMap>(default());
    cluster.settle().await;
    assert!(informers.shutdown().await);
    assert!(!metadata.has_synced());
    cluster.stop().await;
}

/// Objects change, requests fail, and the other informer comes and goes, in a random order. In the end the cache of metadata has
/// what the server has. Its listener has received the changes in their order.
#[tokio::test(start_paused = true)]
async fn nothing_is_missed_in_random_runs() {
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let cluster = Cluster::start().unwrap();
        let informers = start(&cluster);
        let mut whole = random.bool().then(|| acquire(&informers));
        let metadata = informers.metadata::<ConfigMap>(default());
        let seen = Seen::of(&metadata);
        assert!(metadata.synced().await);
        for step in 0..150 {
            let name = format!("map-{}", random.u8(..8));
            match random.u8(..20) {
                0..6 => {
                    let map = map(&name, &step.to_string(), random.bool());
                    _ = cluster.create(&map).await;
                }
                6..11 => {
                    let api = cluster.api::<ConfigMap>();
                    let change = json!({"metadata": {"labels": {"at": step.to_string()}}});
                    let change = Patch::Merge(change);
                    _ = api.patch(&name, &PatchParams::default(), &change).await;
                }
                11..14 => _ = cluster.delete::<ConfigMap>(&name).await,
                14 => _ = cluster.faults().drop_watches(&of_maps()),
                15 => {
                    cluster.faults().compact();
                    cluster.faults().expire_watches(&of_maps());
                }
                16 => {
                    let refused = Answer::status(500, "InternalError");
                    let times = random.usize(1..4);
                    cluster
                        .faults()
                        .answer(of_maps().verb("watch"), refused, times);
                }
                17 => match whole.take() {
                    Some(whole) => whole.release().await,
                    None => whole = Some(acquire(&informers)),
                },
                18 => sleep(Duration::from_secs(random.u64(..20))).await,
                _ => cluster.settle().await,
            }
        }
        cluster.faults().clear();
        sleep(Duration::from_secs(900)).await;
        assert_eq!(cached(&metadata), served(&cluster).await, "seed {seed}");
        assert_eq!(*seen.0.lock(), cached(&metadata), "seed {seed}");
        let watches = cluster.faults().running_watches(&of_maps());
        assert_eq!(
            watches,
            1,
            "seed {seed}, with the whole: {}",
            whole.is_some()
        );
        drop(whole);
        assert!(informers.shutdown().await);
        cluster.stop().await;
    }
}
