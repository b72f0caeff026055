//! Informers are shared, started, isolated and ended together.

use futures_util::StreamExt;
use parking_lot::Mutex;

use super::*;
use crate::{
    cache::{
        Event, InformerGuard, InformerScope, Informers, ListenerOptions, RealFifo,
        fake::{Answer, status},
        informer::KindOptions,
    },
    client::{Client, Config},
    metrics::Metrics,
    resource::{ApiResource, DynamicObject},
};

fn informers() -> Informers {
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    Informers::new(Client::new(config).unwrap(), Metrics::new())
}

fn request(
    informers: &Informers,
    server: &FakeServer,
    scope: InformerScope,
) -> SharedInformer<ConfigMap> {
    let server = server.clone();
    informers.of_source(ApiResource::of::<ConfigMap>(), scope, move |_| {
        server.clone()
    })
}

#[tokio::test(start_paused = true)]
async fn equal_requests_share_one_list_one_watch_and_one_copy() {
    let (server, informers) = (FakeServer::new(), informers());
    server.put("a");
    let first = request(&informers, &server, InformerScope::all());
    informers.start(&CancellationToken::new());
    run_ready_tasks().await;
    let second = request(&informers, &server, InformerScope::all());
    run_ready_tasks().await;
    assert_eq!(server.requests(), ["list at 0 limit 500", "watch from 1"]);
    let key = ObjectKey::namespaced("default", "a");
    let read = |informer: &SharedInformer<ConfigMap>| informer.lister().get(&key).unwrap().unwrap();
    assert!(Arc::ptr_eq(&read(&first), &read(&second)));
    assert_eq!(informers.statuses().len(), 1);
    informers.shutdown().await;
}

fn acquire(informers: &Informers, server: &FakeServer) -> InformerGuard<ConfigMap> {
    let (resource, server) = (ApiResource::of::<ConfigMap>(), server.clone());
    let source = move |_: &InformerScope, _: Option<&str>| server.clone();
    let options = KindOptions::default();
    let informer = informers.get_or_create(resource, InformerScope::all(), options, source, false);
    InformerGuard::new(informers.clone(), informer)
}

#[tokio::test(start_paused = true)]
async fn an_acquired_informer_ends_with_its_last_guard_and_frees_its_objects() {
    let (server, informers) = (FakeServer::new(), informers());
    server.put("a");
    informers.start(&CancellationToken::new());
    let (first, second) = (acquire(&informers, &server), acquire(&informers, &server));
    assert!(first.synced().await && second.synced().await);
    assert_eq!(server.requests(), ["list at 0 limit 500", "watch from 1"]);
    let key = ObjectKey::namespaced("default", "a");
    let object = Arc::downgrade(&first.lister().get(&key).unwrap().unwrap());
    first.release().await;
    server.put("b");
    run_ready_tasks().await;
    assert_eq!(second.lister().len(), 2, "the second guard still needs it");
    second.release().await;
    assert!(object.upgrade().is_none());
    assert_eq!(informers.statuses().len(), 0);
    server.put("c");
    seconds(1000).await;
    assert_eq!(server.requests(), [""; 0], "no more requests");

    let dropped = acquire(&informers, &server);
    assert!(
        dropped.synced().await,
        "a later request gets a new informer"
    );
    drop(dropped);
    assert_eq!(informers.statuses().len(), 0);
    assert!(informers.shutdown().await);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_was_requested_without_a_guard_outlives_its_guards() {
    let (server, informers) = (FakeServer::new(), informers());
    informers.start(&CancellationToken::new());
    let guard = acquire(&informers, &server);
    let permanent = request(&informers, &server, InformerScope::all());
    assert!(permanent.is(&guard));
    guard.release().await;
    server.put("a");
    run_ready_tasks().await;
    assert_eq!(
        (permanent.lister().len(), informers.statuses().len()),
        (1, 1)
    );
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn another_scope_or_representation_is_another_informer() {
    let informers = informers();
    informers.informer::<ConfigMap>(InformerScope::all());
    informers.informer::<ConfigMap>(InformerScope::all().namespace("x"));
    informers.informer::<ConfigMap>(InformerScope::all().labels("app=web"));
    informers.informer::<ConfigMap>(InformerScope::all().namespace(""));
    informers.dynamic(ApiResource::of::<ConfigMap>(), InformerScope::all());
    informers.of::<DynamicObject>(ApiResource::of::<ConfigMap>(), InformerScope::all());
    assert_eq!(informers.statuses().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_requested_after_the_start_runs_at_once() {
    let (server, informers) = (FakeServer::new(), informers());
    informers.start(&CancellationToken::new());
    let late = request(&informers, &server, InformerScope::all());
    assert!(late.synced().await);
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_kind_delays_no_other_kind() {
    let (forbidden, good, informers) = (
        FakeServer::new().in_namespace("x"),
        FakeServer::new(),
        informers(),
    );
    let refusal = || Answer::Fail(status(403, "Forbidden", "no role"));
    forbidden.answer_lists((0..1000).map(|_| refusal()));
    let held_back = request(&informers, &forbidden, InformerScope::all().namespace("x"));
    let good = request(&informers, &good, InformerScope::all());
    informers.start(&CancellationToken::new());
    run_ready_tasks().await;
    assert!(good.has_synced() && !held_back.has_synced());
    let told: Vec<String> = informers
        .statuses()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(told[0], "synced");
    assert!(
        told[1].starts_with("cannot list configmaps in namespace \"x\": "),
        "{told:?}"
    );
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn after_the_shutdown_no_task_is_left() {
    let (server, informers) = (FakeServer::new(), informers());
    let informer = request(&informers, &server, InformerScope::all());
    let other = request(&informers, &server, InformerScope::all().namespace("x"));
    let recorded = RecordingListener::at(&informer);
    informers.start(&CancellationToken::new());
    assert!(informer.synced().await && other.synced().await);
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    assert_eq!(tasks(), 2);
    informers.shutdown().await;
    assert_eq!((tasks(), server.open_watches()), (0, 0));
    // An informer that is requested now never syncs.
    let late = request(&informers, &server, InformerScope::all().namespace("y"));
    assert!(!late.synced().await);
    drop(recorded);
}

#[tokio::test(start_paused = true)]
async fn informers_without_a_handle_end() {
    let (server, informers) = (FakeServer::new(), informers());
    let informer = request(&informers, &server, InformerScope::all());
    informers.start(&CancellationToken::new());
    run_ready_tasks().await;
    drop(informers);
    run_ready_tasks().await;
    assert_eq!(server.open_watches(), 0);
    assert!(
        informer.has_synced(),
        "the cached objects can still be read"
    );
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_before_the_start_wakes_those_who_wait() {
    let (server, informers) = (FakeServer::new(), informers());
    let informer = request(&informers, &server, InformerScope::all());
    informers.shutdown().await;
    assert!(!informer.synced().await);
    informers.start(&CancellationToken::new());
    assert!(server.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_removed_informer_ends_for_all_users_and_the_next_request_creates_a_new_one() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let informers = Informers::new(Client::new(config).unwrap(), metrics.clone());
    server.put("a");
    let first = request(&informers, &server, InformerScope::all());
    let other = request(&informers, &server, InformerScope::all());
    informers.start(&CancellationToken::new());
    assert!(informers.readiness().wait().await);
    let (recorded, stream) = (RecordingListener::at(&other), first.stream());
    run_ready_tasks().await;
    informers.remove(&first).await;
    assert_eq!((server.open_watches(), informers.statuses().len()), (0, 0));
    assert_eq!(metrics.informer("", "v1", "configmaps").objects.get(), 0);
    recorded.subscription.remove().await;
    assert_eq!(stream.collect::<Vec<_>>().await.len(), 1);
    assert_eq!(
        other.lister().len(),
        1,
        "the cached objects can still be read"
    );
    let tasks = tokio::runtime::Handle::current().metrics();
    assert_eq!(tasks.num_alive_tasks(), 0);
    let again = request(&informers, &server, InformerScope::all());
    assert!(again.synced().await);
    // An old handle ends no new informer.
    informers.remove(&first).await;
    assert_eq!(informers.statuses().len(), 1);
    // An informer that was never started ends too.
    let alone = server.informer();
    informers.remove(&alone).await;
    assert!(!alone.synced().await);
    assert!(informers.shutdown().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_that_never_returns_is_named_and_delays_the_shutdown_for_a_bounded_time() {
    let (server, informers) = (FakeServer::new(), informers());
    server.put("a");
    let informer = request(&informers, &server, InformerScope::all());
    let (blocked, begun) = (
        std::sync::mpsc::channel::<()>(),
        Arc::new(tokio::sync::Notify::new()),
    );
    let (own, release) = (begun.clone(), blocked.0);
    informer.add_named_listener("stuck", move |_| {
        own.notify_one();
        let _ = blocked.1.recv();
    });
    informers.start(&CancellationToken::new());
    begun.notified().await;
    assert!(!informers.shutdown_within(Duration::from_millis(1)).await);
    let active = informer
        .status()
        .active_listener
        .map(|(listener, _)| listener);
    assert_eq!(active.as_deref(), Some("stuck"));
    drop(release);
    assert!(informers.shutdown().await);
}

#[tokio::test(start_paused = true)]
async fn a_transform_changes_stored_and_delivered_objects_and_its_failures_affect_only_their_object()
 {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let builder = Informers::builder(Client::new(config).unwrap(), metrics.clone());
    let builder = builder.transform::<ConfigMap>(|object| {
        let metadata = &mut object.metadata;
        metadata.labels = Some([("seen".into(), "yes".into())].into());
        match metadata.name.as_deref() {
            Some("fails") => Err("not for us".into()),
            Some("panics") => panic!("on purpose"),
            Some("renamed") => {
                metadata.name = Some("other".into());
                Ok(())
            }
            _ => Ok(()),
        }
    });
    let informers = builder.build();
    let names = ["fails", "good", "panics", "renamed"];
    names.into_iter().for_each(|name| server.put(name));
    let informer = request(&informers, &server, InformerScope::all());
    let recorded = RecordingListener::at(&informer);
    let told = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let own = told.clone();
    informer.add_listener(move |event| {
        if let Event::Deleted { object, .. } | Event::Added { object, .. } = event
            && let Ok(object) = object.object()
        {
            own.lock().push(object.metadata.labels.is_some());
        }
    });
    informers.start(&CancellationToken::new());
    assert!(informer.synced().await);
    let mut lines = recorded.lines();
    lines.sort();
    let bad = [
        "undecodable fails",
        "undecodable panics",
        "undecodable renamed",
    ];
    assert_eq!(lines, [&["initial good"], &bad[..]].concat());
    let mut reasons: Vec<_> = informer
        .undecodable()
        .iter()
        .map(|one| one.reason.clone())
        .collect();
    reasons.sort();
    assert_eq!(
        reasons,
        [
            "the transform changed the name, namespace, UID or resource version",
            "the transform failed: not for us",
            "the transform panicked: on purpose",
        ]
    );
    let series = metrics.informer("", "v1", "configmaps");
    assert_eq!(
        (series.transform_errors.get(), series.undecodable.get()),
        (3, 3)
    );
    server.delete("good");
    server.delete("fails");
    run_ready_tasks().await;
    assert_eq!(
        recorded.lines(),
        ["deleted good", "undecodable deleted fails"]
    );
    assert_eq!(*told.lock(), [true, true], "deletions are transformed too");
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn lists_and_the_events_of_watches_are_measured_by_kind() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    server.put("a");
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let informers = Informers::new(Client::new(config).unwrap(), metrics.clone());
    informers.start(&CancellationToken::new());
    let informer = request(&informers, &server, InformerScope::all());
    run_ready_tasks().await;
    let series = metrics.informer("", "v1", "configmaps");
    let events = || {
        let events = &series.watch_events;
        [&events.added, &events.modified, &events.deleted].map(|counter| counter.get())
    };
    // The objects of a list count as no event.
    assert_eq!(
        (series.list_seconds.get_sample_count(), events()),
        (1, [0; 3])
    );
    server.put("b");
    server.put("b");
    server.put("b");
    server.delete("b");
    server.delete("a");
    run_ready_tasks().await;
    assert_eq!(events(), [1, 2, 2]);
    assert_eq!(series.list_seconds.get_sample_count(), 1);
    informer.relist();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(series.list_seconds.get_sample_count(), 2);
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_metric_series_of_a_kind_end_with_its_last_informer_and_those_of_a_listener_with_its_last_listener()
 {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    server.put("a");
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let informers = Informers::new(Client::new(config).unwrap(), metrics.clone());
    informers.start(&CancellationToken::new());
    let one = request(&informers, &server, InformerScope::all());
    let other = request(&informers, &server, InformerScope::all().labels("app=web"));
    let has = |text: &str| metrics.encode().contains(text);
    let stream = one.stream_with(ListenerOptions::new().named("slow"));
    let (first, second) = (
        other.add_named_listener("web", |_| {}),
        one.add_named_listener("web", |_| {}),
    );
    run_ready_tasks().await;
    assert!(has("listener=\"slow\"") && has("listener=\"web\"") && has("reason=\"initial\""));
    first.remove().await;
    assert!(
        has("listener=\"web\""),
        "another listener with this name exists"
    );
    second.remove().await;
    drop(stream);
    run_ready_tasks().await;
    assert!(!has("listener="), "{}", metrics.encode());
    informers.remove(&other).await;
    let objects = metrics.informer("", "v1", "configmaps").objects.get();
    assert!(has("informer_queued_items{") && objects == 1);
    informers.remove(&one).await;
    assert!(!has("configmaps"), "{}", metrics.encode());
    assert_eq!(
        one.lister().len(),
        1,
        "its cached objects can still be read"
    );
    request(&informers, &server, InformerScope::all());
    run_ready_tasks().await;
    assert!(has(
        "pilothouse_informer_objects{resource=\"configmaps\"} 1"
    ));
    informers.shutdown().await;
    assert!(!has("configmaps"), "{}", metrics.encode());
}

#[tokio::test(start_paused = true)]
async fn deltas_that_wait_for_the_store_are_counted() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    let objects = RealFifo::<ConfigMap>::FIRST_LIST_BATCH + 452;
    (0..objects).for_each(|number| server.put(&format!("o{number:04}")));
    let informer = server.informer_with(&metrics);
    let queued = metrics.informer("", "v1", "configmaps").queued;
    let (seen, gauge) = (Arc::new(Mutex::new(Vec::new())), queued.clone());
    let own = seen.clone();
    informer.add_listener(move |_| own.lock().push(gauge.get()));
    let running = Running::of(informer);
    run_ready_tasks().await;
    // The first batch leaves the rest of the list, whose mark of the begin is a delta, too.
    assert_eq!(seen.lock().iter().copied().max(), Some(1 + 452));
    assert_eq!(queued.get(), 0);
    running.cancel.cancel();
    running.task.await.unwrap();
}
