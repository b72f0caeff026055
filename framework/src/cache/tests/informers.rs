//! One copy of everything, started, isolated and ended together.

use std::sync::Mutex;

use futures_util::StreamExt;

use super::*;
use crate::{
    cache::{
        Event, InformerClaim, InformerScope, Informers, ListenerOptions,
        fake::{Answer, status},
    },
    client::{Client, Config},
    metrics::Metrics,
    resource::{ApiResource, DynamicObject},
};

fn informers() -> Informers {
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    Informers::new(Client::new(config).unwrap(), Metrics::new())
}

fn ask(
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
async fn two_who_ask_for_the_same_share_one_list_one_watch_and_one_copy() {
    let (server, informers) = (FakeServer::new(), informers());
    server.put("a");
    let first = ask(&informers, &server, InformerScope::all());
    informers.start(&CancellationToken::new());
    settle().await;
    let second = ask(&informers, &server, InformerScope::all());
    settle().await;
    assert_eq!(server.requests(), ["list at 0 limit 500", "watch from 1"]);
    let key = ObjectKey::namespaced("default", "a");
    let read = |informer: &SharedInformer<ConfigMap>| informer.lister().get(&key).unwrap().unwrap();
    assert!(Arc::ptr_eq(&read(&first), &read(&second)));
    assert_eq!(informers.statuses().len(), 1);
    informers.shutdown().await;
}

fn claim(informers: &Informers, server: &FakeServer) -> InformerClaim<ConfigMap> {
    let (resource, server) = (ApiResource::of::<ConfigMap>(), server.clone());
    let source = move |_: Option<&str>| server.clone();
    let informer = informers.measured(resource, InformerScope::all(), None, source, false);
    InformerClaim::new(informers.clone(), informer)
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_is_claimed_ends_with_its_last_claim_and_frees_what_it_held() {
    let (server, informers) = (FakeServer::new(), informers());
    server.put("a");
    informers.start(&CancellationToken::new());
    let (first, second) = (claim(&informers, &server), claim(&informers, &server));
    assert!(first.synced().await && second.synced().await);
    assert_eq!(server.requests(), ["list at 0 limit 500", "watch from 1"]);
    let key = ObjectKey::namespaced("default", "a");
    let object = Arc::downgrade(&first.lister().get(&key).unwrap().unwrap());
    first.release().await;
    server.put("b");
    settle().await;
    assert_eq!(second.lister().len(), 2, "somebody needs it still");
    second.release().await;
    assert!(object.upgrade().is_none());
    assert_eq!(informers.statuses().len(), 0);
    server.put("c");
    seconds(1000).await;
    assert_eq!(server.requests(), [""; 0], "nothing is asked any more");

    let dropped = claim(&informers, &server);
    assert!(dropped.synced().await, "whoever comes later gets a new one");
    drop(dropped);
    assert_eq!(informers.statuses().len(), 0);
    assert!(informers.shutdown().await);
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_somebody_asked_for_for_good_outlives_its_claims() {
    let (server, informers) = (FakeServer::new(), informers());
    informers.start(&CancellationToken::new());
    let claimed = claim(&informers, &server);
    let kept = ask(&informers, &server, InformerScope::all());
    assert!(kept.is(&claimed));
    claimed.release().await;
    server.put("a");
    settle().await;
    assert_eq!((kept.lister().len(), informers.statuses().len()), (1, 1));
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
async fn an_informer_asked_for_later_runs_at_once() {
    let (server, informers) = (FakeServer::new(), informers());
    informers.start(&CancellationToken::new());
    let late = ask(&informers, &server, InformerScope::all());
    assert!(late.synced().await);
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_kind_delays_no_other() {
    let (forbidden, good, informers) = (
        FakeServer::new().in_namespace("x"),
        FakeServer::new(),
        informers(),
    );
    let refusal = || Answer::Fail(status(403, "Forbidden", "no role"));
    forbidden.answer_lists((0..1000).map(|_| refusal()));
    let held_back = ask(&informers, &forbidden, InformerScope::all().namespace("x"));
    let good = ask(&informers, &good, InformerScope::all());
    informers.start(&CancellationToken::new());
    settle().await;
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
    let informer = ask(&informers, &server, InformerScope::all());
    let other = ask(&informers, &server, InformerScope::all().namespace("x"));
    let heard = Heard::at(&informer);
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
    // What is asked for now says that it will not come.
    let late = ask(&informers, &server, InformerScope::all().namespace("y"));
    assert!(!late.synced().await);
    drop(heard);
}

#[tokio::test(start_paused = true)]
async fn informers_that_nobody_holds_end() {
    let (server, informers) = (FakeServer::new(), informers());
    let informer = ask(&informers, &server, InformerScope::all());
    informers.start(&CancellationToken::new());
    settle().await;
    drop(informers);
    settle().await;
    assert_eq!(server.open_watches(), 0);
    assert!(informer.has_synced(), "what was read can still be read");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_before_the_start_tells_those_who_wait() {
    let (server, informers) = (FakeServer::new(), informers());
    let informer = ask(&informers, &server, InformerScope::all());
    informers.shutdown().await;
    assert!(!informer.synced().await);
    informers.start(&CancellationToken::new());
    assert!(server.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_removed_informer_ends_for_all_and_the_next_one_begins_anew() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let informers = Informers::new(Client::new(config).unwrap(), metrics.clone());
    server.put("a");
    let first = ask(&informers, &server, InformerScope::all());
    let other = ask(&informers, &server, InformerScope::all());
    informers.start(&CancellationToken::new());
    assert!(informers.readiness().wait().await);
    let (heard, stream) = (Heard::at(&other), first.stream());
    settle().await;
    informers.remove(&first).await;
    assert_eq!((server.open_watches(), informers.statuses().len()), (0, 0));
    assert_eq!(metrics.informer("", "v1", "configmaps").objects.get(), 0);
    heard.subscription.remove().await;
    assert_eq!(stream.collect::<Vec<_>>().await.len(), 1);
    assert_eq!(other.lister().len(), 1, "what was read can still be read");
    let tasks = tokio::runtime::Handle::current().metrics();
    assert_eq!(tasks.num_alive_tasks(), 0);
    let again = ask(&informers, &server, InformerScope::all());
    assert!(again.synced().await);
    // An old handle ends no new informer.
    informers.remove(&first).await;
    assert_eq!(informers.statuses().len(), 1);
    // One that was never started ends too.
    let alone = server.informer();
    informers.remove(&alone).await;
    assert!(!alone.synced().await);
    assert!(informers.shutdown().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_that_never_returns_is_named_and_holds_the_shutdown_for_a_bounded_time() {
    let (server, informers) = (FakeServer::new(), informers());
    server.put("a");
    let informer = ask(&informers, &server, InformerScope::all());
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
    let telling = informer.status().telling.map(|(listener, _)| listener);
    assert_eq!(telling.as_deref(), Some("stuck"));
    drop(release);
    assert!(informers.shutdown().await);
}

#[tokio::test(start_paused = true)]
async fn a_transform_shapes_what_is_kept_and_told_and_its_failures_spoil_only_their_object() {
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
    let informer = ask(&informers, &server, InformerScope::all());
    let heard = Heard::at(&informer);
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let own = told.clone();
    informer.add_listener(move |event| {
        if let Event::Deleted { object, .. } | Event::Added { object, .. } = event {
            own.lock().unwrap().push(object.metadata.labels.is_some());
        }
    });
    informers.start(&CancellationToken::new());
    assert!(informer.synced().await);
    let mut lines = heard.lines();
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
            "its transform changed the name, namespace, UID or resource version",
            "its transform failed: not for us",
            "its transform panicked",
        ]
    );
    let series = metrics.informer("", "v1", "configmaps");
    assert_eq!(
        (series.transform_errors.get(), series.undecodable.get()),
        (3, 3)
    );
    server.delete("good");
    server.delete("fails");
    settle().await;
    assert_eq!(heard.lines(), ["deleted good", "undecodable deleted fails"]);
    assert_eq!(
        *told.lock().unwrap(),
        [true, true],
        "deletions are shaped too"
    );
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn lists_and_the_events_of_watches_are_measured_by_kind() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    server.put("a");
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let informers = Informers::new(Client::new(config).unwrap(), metrics.clone());
    informers.start(&CancellationToken::new());
    let informer = ask(&informers, &server, InformerScope::all());
    settle().await;
    let series = metrics.informer("", "v1", "configmaps");
    let events = || {
        let events = &series.watch_events;
        [&events.added, &events.modified, &events.deleted].map(|counter| counter.get())
    };
    // What was listed is no event.
    assert_eq!(
        (series.list_seconds.get_sample_count(), events()),
        (1, [0; 3])
    );
    server.put("b");
    server.put("b");
    server.put("b");
    server.delete("b");
    server.delete("a");
    settle().await;
    assert_eq!(events(), [1, 2, 2]);
    assert_eq!(series.list_seconds.get_sample_count(), 1);
    informer.relist();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    assert_eq!(series.list_seconds.get_sample_count(), 2);
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_series_of_a_kind_end_with_its_last_informer_and_those_of_a_name_with_its_listeners() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    server.put("a");
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let informers = Informers::new(Client::new(config).unwrap(), metrics.clone());
    informers.start(&CancellationToken::new());
    let one = ask(&informers, &server, InformerScope::all());
    let other = ask(&informers, &server, InformerScope::all().labels("app=web"));
    let has = |text: &str| metrics.encode().contains(text);
    let stream = one.stream_with(ListenerOptions::new().named("slow"));
    let (first, second) = (
        other.add_named_listener("web", |_| {}),
        one.add_named_listener("web", |_| {}),
    );
    settle().await;
    assert!(has("listener=\"slow\"") && has("listener=\"web\"") && has("reason=\"initial\""));
    first.remove().await;
    assert!(has("listener=\"web\""), "another of the name is there");
    second.remove().await;
    drop(stream);
    settle().await;
    assert!(!has("listener="), "{}", metrics.encode());
    informers.remove(&other).await;
    let objects = metrics.informer("", "v1", "configmaps").objects.get();
    assert!(has("informer_queued_items{") && objects == 1);
    informers.remove(&one).await;
    assert!(!has("configmaps"), "{}", metrics.encode());
    assert_eq!(one.lister().len(), 1, "what it read can still be read");
    ask(&informers, &server, InformerScope::all());
    settle().await;
    assert!(has(
        "pilothouse_informer_objects{resource=\"configmaps\"} 1"
    ));
    informers.shutdown().await;
    assert!(!has("configmaps"), "{}", metrics.encode());
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_the_store_is_counted() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    (0..2500).for_each(|number| server.put(&format!("o{number:04}")));
    let informer = server.informer_with(&metrics);
    let queued = metrics.informer("", "v1", "configmaps").queued;
    let (seen, gauge) = (Arc::new(Mutex::new(Vec::new())), queued.clone());
    let own = seen.clone();
    informer.add_listener(move |_| own.lock().unwrap().push(gauge.get()));
    let running = Running::of(informer);
    settle().await;
    let most = seen.lock().unwrap().iter().copied().max();
    assert!(
        most.is_some_and(|most| (500..=2500).contains(&most)),
        "{most:?}"
    );
    assert_eq!(queued.get(), 0);
    running.cancel.cancel();
    running.task.await.unwrap();
}
