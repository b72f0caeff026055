//! Tests the cache over the whole stack: client, HTTP/2 and the sandbox, in memory and on the paused clock.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use pilothouse::{
    cache::{Event, InformerScope, Informers, Lister, SharedInformer},
    client::{DeleteParams, ListParams, PostParams},
    k8s::api::core::v1::{ConfigMap, Namespace},
    metrics::Metrics,
    operator::Operator,
    prelude::*,
    resource::{Object, ObjectKey},
    testing::Cluster,
};
use pilothouse_sandbox::{Answer, RequestMatcher};
use tokio_util::sync::CancellationToken;

fn config_map(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.into());
    object
}

fn start(cluster: &Cluster) -> Informers {
    let informers = Informers::new(cluster.client().clone(), Metrics::new());
    informers.start(&CancellationToken::new());
    informers
}

/// Adds a listener and returns its events as `<kind of event> <name>`.
fn listen(informer: &SharedInformer<ConfigMap>) -> Arc<Mutex<Vec<String>>> {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let own = log.clone();
    informer.add_listener(move |event| {
        let what = match event {
            _ if event.entry().undecodable().is_some() => "undecodable",
            Event::Added { .. } => "added",
            Event::Updated { .. } => "updated",
            Event::Recreated { .. } => "recreated",
            Event::Deleted {
                final_state_known: true,
                ..
            } => "deleted",
            Event::Deleted { .. } => "vanished",
            Event::Resync { .. } => "resync",
        };
        own.lock().push(format!("{what} {}", event.key().name()));
    });
    log
}

fn take(log: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut log.lock())
}

fn cached(lister: &Lister<ConfigMap>) -> BTreeMap<ObjectKey, Option<String>> {
    let items = lister.list().items;
    let version =
        |object: &Arc<ConfigMap>| (object.key(), object.metadata.resource_version.clone());
    items.iter().map(version).collect()
}

async fn served(cluster: &Cluster) -> BTreeMap<ObjectKey, Option<String>> {
    let list = cluster
        .api::<ConfigMap>()
        .list(&ListParams::default())
        .await;
    let version = |object: ConfigMap| (object.key(), object.metadata.resource_version);
    list.unwrap().into_iter().map(version).collect()
}

async fn change_everything(cluster: &Cluster) {
    cluster.delete::<ConfigMap>("a").await.unwrap();
    let mut b: ConfigMap = cluster.get("b").await.unwrap().unwrap();
    b.data = Some([("changed".into(), "yes".into())].into());
    let api = cluster.api::<ConfigMap>();
    api.replace("b", &PostParams::default(), &b).await.unwrap();
    cluster.delete::<ConfigMap>("c").await.unwrap();
    cluster.create(&config_map("c")).await.unwrap();
    cluster.create(&config_map("e")).await.unwrap();
}

fn verbs(cluster: &Cluster) -> Vec<String> {
    let requests = cluster.requests();
    let reads = requests.into_iter().filter(|request| {
        request.resource == "configmaps" && matches!(&*request.verb, "list" | "watch")
    });
    reads.map(|request| request.verb).collect()
}

#[tokio::test(start_paused = true)]
async fn no_event_is_missed_when_the_connection_breaks() {
    let cluster = Cluster::start().unwrap();
    for name in ["a", "b", "c", "d"] {
        cluster.create(&config_map(name)).await.unwrap();
    }
    let informers = start(&cluster);
    let informer = informers.informer(InformerScope::all().namespace("default"));
    let log = listen(&informer);
    assert!(informer.synced().await);
    cluster.settle().await;
    take(&log);
    cluster.forget_requests();

    cluster.settle().await;
    assert_eq!(cluster.faults().drop_watches(&RequestMatcher::any()), 1);
    change_everything(&cluster).await;
    cluster.settle().await;
    cluster.settle().await;
    let received = take(&log);
    assert_eq!(
        received,
        ["deleted a", "updated b", "deleted c", "added c", "added e"]
    );
    assert!(verbs(&cluster).iter().all(|verb| verb == "watch"));
    assert_eq!(cached(&informer.lister()), served(&cluster).await);
    informers.shutdown().await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn no_change_is_missed_when_the_history_is_compacted() {
    let cluster = Cluster::start().unwrap();
    for name in ["a", "b", "c", "d"] {
        cluster.create(&config_map(name)).await.unwrap();
    }
    let informers = start(&cluster);
    let informer = informers.informer(InformerScope::all().namespace("default"));
    let log = listen(&informer);
    assert!(informer.synced().await);
    cluster.settle().await;
    take(&log);

    // No watch can be opened until all changes have happened and the history has been compacted.
    let watches = RequestMatcher::any().verb("watch");
    let refused =
        Answer::status(429, "TooManyRequests").retry_after(std::time::Duration::from_secs(30));
    cluster.faults().answer(watches.clone(), refused, 1);
    cluster.faults().drop_watches(&watches);
    cluster.settle().await;
    change_everything(&cluster).await;
    cluster.faults().compact();
    cluster.forget_requests();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let received = take(&log);
    assert_eq!(
        received,
        ["updated b", "recreated c", "added e", "vanished a"]
    );
    assert_eq!(verbs(&cluster), ["watch", "watch"], "the list is streamed");
    assert_eq!(cached(&informer.lister()), served(&cluster).await);
    informers.shutdown().await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_users_of_one_informer_share_one_list_one_watch_and_one_copy() {
    let cluster = Cluster::start().unwrap();
    cluster.create(&config_map("a")).await.unwrap();
    cluster.forget_requests();
    let informers = start(&cluster);
    let (first, second) = (
        informers.informer::<ConfigMap>(InformerScope::all()),
        informers.informer::<ConfigMap>(InformerScope::all()),
    );
    assert!(first.synced().await && second.synced().await);
    cluster.settle().await;
    assert_eq!(verbs(&cluster), ["watch"], "the list is streamed");
    let key = ObjectKey::namespaced("default", "a");
    let read = |informer: &SharedInformer<ConfigMap>| informer.lister().get(&key).unwrap().unwrap();
    assert!(Arc::ptr_eq(&read(&first), &read(&second)));
    assert_eq!(read(&first).metadata.managed_fields, None);
    informers.shutdown().await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_informer_stays_current_for_hours_while_watches_end() {
    let cluster = Cluster::start().unwrap();
    let informers = start(&cluster);
    let informer = informers.informer::<ConfigMap>(InformerScope::all());
    assert!(informer.synced().await);
    cluster.forget_requests();
    for hour in 0..3 {
        tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
        let name = format!("hour-{hour}");
        cluster.create(&config_map(&name)).await.unwrap();
        cluster.settle().await;
        assert!(
            informer
                .lister()
                .contains(&ObjectKey::namespaced("default", &name))
        );
    }
    assert!(verbs(&cluster).iter().all(|verb| verb == "watch"));
    let status = informer.status();
    assert_eq!(status.last_error, None);
    informers.shutdown().await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_kind_is_reported_and_works_once_it_is_allowed() {
    let cluster = Cluster::start().unwrap();
    let lists = RequestMatcher::any().verb("list").resource("configmaps");
    let forbidden = Answer::status(403, "Forbidden").message("no role gives that");
    let watches = RequestMatcher::any().verb("watch").resource("configmaps");
    cluster.faults().answer(watches, forbidden.clone(), 1);
    cluster.faults().answer(lists, forbidden, 3);
    let informers = start(&cluster);
    let informer = informers.informer::<ConfigMap>(InformerScope::all().namespace("x"));
    let other = informers.informer::<pilothouse::k8s::api::core::v1::Secret>(InformerScope::all());
    assert!(other.synced().await);
    assert!(!informer.has_synced());
    assert_eq!(
        informer.status().last_error.as_deref(),
        Some(
            "cannot list configmaps in namespace \"x\": forbidden: no role gives that: bind this \
             identity to a Role in x with apiGroups: [\"\"], resources: [\"configmaps\"], \
             verbs: [\"get\", \"list\", \"watch\"]"
        )
    );
    assert!(informer.synced().await);
    assert_eq!(informer.status().last_error, None);
    informers.shutdown().await;
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_background_deletion_in_a_busy_collection_is_delivered() {
    let cluster = Cluster::start().unwrap();
    for number in 0..600 {
        cluster
            .create(&config_map(&format!("o{number:03}")))
            .await
            .unwrap();
    }
    let informers = start(&cluster);
    let informer = informers.informer::<ConfigMap>(InformerScope::all().namespace("default"));
    assert!(informer.synced().await);
    let before = informer.lister().len();
    let api = cluster.api::<ConfigMap>();
    let everything = ListParams::default();
    api.delete_collection(&DeleteParams::default(), &everything)
        .await
        .unwrap();
    cluster.settle().await;
    assert!(before >= 600 && informer.lister().len() <= before - 600);
    informers.shutdown().await;
    cluster.stop().await;
}

/// Records for which ConfigMaps it was called, and their content.
struct Seen(Arc<Mutex<Vec<String>>>);

impl Reconciler for Seen {
    type Resource = ConfigMap;

    async fn reconcile(&self, object: Arc<ConfigMap>, _: &Context<ConfigMap>) -> Result<Action> {
        let secret = object.data.as_ref().map_or(0, BTreeMap::len);
        let line = format!("{} {secret}", object.key());
        self.0.lock().push(line);
        Ok(Action::wait())
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_watches_only_its_namespaces_and_caches_only_the_configured_form() {
    let cluster = Cluster::start().unwrap();
    let (red, green) = (cluster.in_namespace("red"), cluster.in_namespace("green"));
    for name in ["red", "green"] {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.into());
        cluster.create(&namespace).await.unwrap();
    }
    for one in [&cluster, &red, &green] {
        let mut object = config_map("a");
        object.data = Some([("key".to_owned(), "value".to_owned())].into());
        one.create(&object).await.unwrap();
    }
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let operator = Operator::new("seen")
        .namespaces(["red", "green"])
        .informers(|informers| {
            informers.transform::<ConfigMap>(|object| {
                object.data = None;
                Ok(())
            })
        })
        .controller(Seen(seen.clone()));
    let running = cluster.run(operator).await.unwrap();
    cluster.settle().await;
    let mut lines = std::mem::take(&mut *seen.lock());
    lines.sort();
    let own_of_cluster = ["green/kube-root-ca.crt 0", "red/kube-root-ca.crt 0"];
    lines.retain(|line| !own_of_cluster.contains(&line.as_str()));
    assert_eq!(lines, ["green/a 0", "red/a 0"]);
    let reads = cluster.requests();
    let all = "/api/v1/configmaps";
    assert!(
        reads.iter().all(|request| request.path != all),
        "roles in the namespaces are enough"
    );
    running.stop().await;
}
