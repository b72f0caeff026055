//! A server whose state was restored, and informers that are asked to list again.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::cache::{
    BatchInfo, CacheObserver, Event, Snapshot,
    fake::{Streaming, status},
};

/// Whether the observer was told that versions went backwards.
#[derive(Clone, Default)]
struct RestoreObserver(Arc<AtomicBool>);

impl RestoreObserver {
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

impl CacheObserver<ConfigMap> for RestoreObserver {
    fn on_event(&mut self, _: &Event<ConfigMap>) {}

    fn on_batch(&mut self, _: &Snapshot<ConfigMap>, info: BatchInfo) {
        self.0.fetch_or(info.went_back, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_version_that_went_backwards_leads_to_a_list_of_the_newest_state() {
    let server = FakeServer::new();
    ["a", "b", "c"]
        .into_iter()
        .for_each(|name| server.put(name));
    let (running, recorded) = Running::synced(&server).await;
    let told = RestoreObserver::default();
    running.informer.observe("test", told.clone());
    seconds(10).await;
    server.bookmark();
    run_ready_tasks().await;
    assert!(!told.take());

    server.restore(1);
    server.bookmark();
    seconds(5).await;
    assert_eq!(server.requests(), ["list limit 500", "watch from 1"]);
    assert!(told.take());
    assert!(running.get("a").is_some() && running.get("c").is_none());
    let snapshot = running.informer.lister().snapshot();
    assert_eq!(snapshot.resource_version(), Some("1"));
    drop(recorded);
}

#[tokio::test(start_paused = true)]
async fn after_a_restore_an_object_with_an_equal_version_has_its_new_content() {
    for streaming in [Streaming::Unasked, Streaming::Served] {
        let server = FakeServer::new().streaming(streaming);
        server.put("a");
        server.put_data("a", "before");
        server.put_undecodable("b");
        let (running, recorded) = Running::synced(&server).await;
        let told = RestoreObserver::default();
        running.informer.observe("test", told.clone());
        seconds(10).await;
        server.restore(1);
        server.bookmark();
        // When the list is read, the server has caught up.
        server.put_data("a", "after");
        server.put_undecodable("b");
        seconds(5).await;
        let a = running.get("a").unwrap();
        assert_eq!(a.metadata.resource_version.as_deref(), Some("2"));
        assert_eq!(a.data.as_ref().unwrap()["key"], "after", "{streaming:?}");
        assert!(told.take(), "{streaming:?}");
        drop(recorded);

        // The next list trusts versions again.
        seconds(10).await;
        server.advance();
        server.compact();
        server.close_watches();
        seconds(5).await;
        assert!(Arc::ptr_eq(&a, &running.get("a").unwrap()), "{streaming:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restore_that_only_a_list_reveals_is_noticed() {
    for streaming in [Streaming::Unasked, Streaming::Served] {
        let server = FakeServer::new().streaming(streaming);
        server.put("a");
        server.put_data("a", "before");
        server.put("b");
        server.put("b");
        let (running, _) = Running::synced(&server).await;
        seconds(10).await;
        server.restore(1);
        server.end_watches(|| status(504, "Timeout", "Too large resource version: 4, current: 2"));
        // No watch sees it.
        server.put_data("a", "after");
        seconds(20).await;
        let a = running.get("a").unwrap();
        assert_eq!(a.data.as_ref().unwrap()["key"], "after", "{streaming:?}");
        assert!(running.get("b").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_requested_list_is_of_the_newest_state_and_reports_no_restore() {
    let server = FakeServer::new();
    server.put("a");
    let (running, recorded) = Running::synced(&server).await;
    let told = RestoreObserver::default();
    running.informer.observe("test", told.clone());
    server.lose_events(1);
    server.put("b");
    seconds(60).await;
    assert!(running.get("b").is_none());
    for _ in 0..2 {
        server.requests();
        running.informer.relist();
        seconds(60).await;
        assert_eq!(server.requests(), ["list limit 500", "watch from 2"]);
        assert!(running.get("b").is_some());
    }
    assert!(!told.take());
    drop(recorded);
}
