//! What listeners can rely on.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::time::timeout;

use super::*;
use crate::{cache::fake::Answer, metrics::Metrics};

#[tokio::test(start_paused = true)]
async fn a_panicking_listener_is_counted_and_affects_no_other_listener() {
    let (server, metrics) = (FakeServer::new(), Metrics::new());
    let informer = server.informer_with(&metrics);
    let calls = Arc::new(AtomicUsize::new(0));
    let own = calls.clone();
    informer.add_listener(move |_| {
        if own.fetch_add(1, Ordering::Relaxed) < 2 {
            panic!("on purpose");
        }
    });
    let recorded = RecordingListener::at(&informer);
    ["a", "b"].into_iter().for_each(|name| server.put(name));
    let running = Running::of(informer);
    run_ready_tasks().await;
    server.put("c");
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["initial a", "initial b", "added c"]);
    assert!(running.informer.has_synced());
    assert_eq!(
        calls.load(Ordering::Relaxed),
        3,
        "the next event is delivered"
    );
    assert_eq!(
        metrics
            .informer("", "v1", "configmaps")
            .listener_panics
            .get(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn a_late_listener_receives_everything_once() {
    let server = FakeServer::new();
    (0..2500).for_each(|number| server.put(&format!("o{number:04}")));
    let (running, _) = Running::synced(&server).await;
    let late = RecordingListener::at(&running.informer);
    // These changes arrive while the snapshot is delivered.
    server.put("o0000");
    server.delete("o0001");
    server.put("new");
    assert!(late.subscription.synced().await);
    run_ready_tasks().await;
    let lines = late.lines();
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.starts_with("initial"))
            .count(),
        2500
    );
    assert_eq!(
        lines[2500..],
        ["updated o0000", "deleted o0001", "added new"]
    );
    assert_eq!(late.folded(), server.objects());
    assert_eq!(late.wrong(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_removed_listener_is_gone_when_the_removal_resolves() {
    let server = FakeServer::new();
    let (running, recorded) = Running::synced(&server).await;
    let kept = Arc::new(Mutex::new(()));
    let own = kept.clone();
    let other = running.informer.add_listener(move |_| drop(own.lock()));
    run_ready_tasks().await;
    recorded.subscription.remove().await;
    other.remove().await;
    assert_eq!(Arc::strong_count(&kept), 1, "the function was dropped");
    server.put("a");
    run_ready_tasks().await;
    assert!(recorded.lines().is_empty());
    recorded.subscription.remove().await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_can_be_removed_before_the_start_and_after_the_end() {
    let server = FakeServer::new();
    let informer = server.informer();
    let before = RecordingListener::at(&informer);
    before.subscription.remove().await;
    let during = RecordingListener::at(&informer);
    server.put("a");
    let running = Running::of(informer);
    run_ready_tasks().await;
    running.cancel.cancel();
    running.task.await.unwrap();
    during.subscription.remove().await;
    assert_eq!((before.lines().len(), during.lines().len()), (0, 1));
    let after = RecordingListener::at(&running.informer);
    assert!(!after.subscription.synced().await);
}

#[tokio::test(start_paused = true)]
async fn every_task_that_waits_for_the_sync_is_woken() {
    let server = FakeServer::new();
    server.answer_lists([Answer::Fail(crate::cache::fake::expired()), Answer::Pass]);
    let informer = server.informer();
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            let informer = informer.clone();
            tokio::spawn(async move { informer.synced().await })
        })
        .collect();
    run_ready_tasks().await;
    assert!(waiting.iter().all(|one| !one.is_finished()));
    let _running = Running::of(informer);
    for one in waiting {
        let woken = timeout(Duration::from_secs(60), one).await;
        assert!(woken.expect("the task was not woken").unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn an_informer_syncs_after_its_listeners_received_the_first_list() {
    let server = FakeServer::new();
    ["a", "b"].into_iter().for_each(|name| server.put(name));
    let informer = server.informer();
    let (seen, own) = (Arc::new(AtomicUsize::new(0)), informer.clone());
    let early = seen.clone();
    informer.add_listener(move |_| {
        early.fetch_add(usize::from(own.has_synced()), Ordering::Relaxed);
    });
    let running = Running::of(informer);
    assert!(running.informer.synced().await);
    assert_eq!(seen.load(Ordering::Relaxed), 0);
    running.cancel.cancel();
    running.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_the_sync_of_a_stopped_informer_ends() {
    let server = FakeServer::new();
    server.answer_lists([Answer::Hang]);
    let running = Running::of(server.informer());
    let informer = running.informer.clone();
    let waiting = tokio::spawn(async move { informer.synced().await });
    run_ready_tasks().await;
    running.cancel.cancel();
    assert!(!waiting.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_first_list_without_objects_syncs() {
    let (running, recorded) = Running::synced(&FakeServer::new()).await;
    assert!(running.informer.has_synced() && recorded.subscription.synced().await);
    assert!(running.informer.lister().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_program_s_functions_run_in_spans_that_name_them() {
    let (log, _guard) = crate::logged::logged(tracing::Level::TRACE);
    let server = FakeServer::new();
    let running = Running::of(server.informer());
    running
        .informer
        .add_named_listener("mine", |_| tracing::info!("received"));
    let index = crate::cache::Index::by(|_: &ConfigMap| {
        tracing::info!("indexed");
        [0]
    });
    let _index = running.informer.add_index(index);
    server.put("a");
    run_ready_tasks().await;
    let text = log.text();
    let line = |word: &str| {
        text.lines()
            .find(|line| line.ends_with(word))
            .unwrap_or_default()
    };
    let within = "deliver{resource=configmaps/v1 listener=\"mine\" events=1}";
    assert!(line("received").contains(within), "{text}");
    assert!(line("indexed").contains("index"), "{text}");
}
