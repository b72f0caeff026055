//! What client-go's tests check and no other test here does: see `tests/PARITY.md`.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::cache::{Event, InformerMode, fake::expired};

#[tokio::test(start_paused = true)]
async fn a_queued_deletion_is_not_delivered_again_by_the_list_behind_it() {
    let server = FakeServer::new();
    ["a", "b"].into_iter().for_each(|name| server.put(name));
    let (running, recorded) = Running::synced(&server).await;
    // All of it is in the queue when the cache looks next.
    server.delete("a");
    server.end_watches(expired);
    server.compact();
    seconds(3).await;
    assert!(
        server
            .requests()
            .iter()
            .any(|line| line.starts_with("list"))
    );
    assert_eq!(recorded.lines(), ["deleted a"]);
    assert!(running.get("a").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_deletion_of_an_object_that_the_cache_never_held_is_delivered_with_its_final_state() {
    let server = FakeServer::new();
    server.put("a");
    let (running, recorded) = Running::synced(&server).await;
    let known = Arc::new(AtomicBool::new(false));
    let own = known.clone();
    running.informer.add_listener(move |event| {
        if let Event::Deleted {
            object,
            final_state_known,
        } = event
        {
            let last = object.resource_version() == Some("2");
            own.store(last && *final_state_known, Ordering::Relaxed);
        }
    });
    server.delete("a");
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["deleted a"]);
    known.store(false, Ordering::Relaxed);
    server.repeat_last_event();
    run_ready_tasks().await;
    assert_eq!(recorded.lines(), ["deleted a"]);
    assert!(known.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn the_resource_version_of_a_cache_follows_events_deletions_bookmarks_and_lists() {
    let server = FakeServer::new();
    server.put("a");
    let (running, _heard) = Running::synced(&server).await;
    let lister = running.informer.lister();
    let at = |step: &str| {
        let snapshot = lister.snapshot();
        assert_eq!(
            snapshot.resource_version(),
            Some(&*server.version()),
            "{step}"
        );
    };
    at("the first list");
    server.put("b");
    run_ready_tasks().await;
    at("one more object");
    server.put("a");
    run_ready_tasks().await;
    at("a change");
    server.delete("a");
    run_ready_tasks().await;
    at("a deletion");
    server.advance();
    server.bookmark();
    run_ready_tasks().await;
    at("a bookmark");
    server.advance();
    server.compact();
    server.end_watches(expired);
    seconds(3).await;
    at("a list");
}

#[tokio::test(start_paused = true)]
async fn listeners_that_are_added_and_removed_during_changes_receive_the_right_events() {
    let server = FakeServer::new();
    let running = Running::of(server.informer());
    let workers = (0..50).map(|worker: u64| {
        let (server, informer) = (server.clone(), running.informer.clone());
        tokio::spawn(async move {
            for round in 0..10 {
                let recorded = RecordingListener::at(&informer);
                server.put(&format!("o{}", (worker + round) % 7));
                tokio::task::yield_now().await;
                match (worker + round) % 5 {
                    0 => server.delete(&format!("o{}", round % 7)),
                    1 => server.end_watches(expired),
                    2 => run_ready_tasks().await,
                    _ => {}
                }
                recorded.subscription.remove().await;
                assert_eq!(recorded.wrong(), Vec::<String>::new());
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    let last = RecordingListener::at(&running.informer);
    seconds(60).await;
    assert_eq!(last.folded(), server.objects());
    assert_eq!(last.wrong(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn an_informer_runs_once_and_reports_when_it_has_stopped() {
    let server = FakeServer::new();
    let informer = server.informer();
    assert_eq!(informer.status().mode, InformerMode::Idle);
    let running = Running::of(informer.clone());
    assert!(informer.synced().await);
    assert_eq!(informer.status().mode, InformerMode::Watching);
    // A second run ends at once and disturbs nothing.
    informer.run(CancellationToken::new()).await;
    assert_eq!(informer.status().mode, InformerMode::Watching);
    running.cancel.cancel();
    running.task.await.unwrap();
    assert_eq!(informer.status().mode, InformerMode::Stopped);
    informer.run(CancellationToken::new()).await;
    assert_eq!(server.open_watches(), 0);
}
