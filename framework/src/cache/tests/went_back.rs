//! A server whose state was put back, and informers that are asked to list anew.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::cache::{
    Event, Follow, Reached, Snapshot,
    fake::{Streaming, status},
};

/// Whether what follows the cache was told that versions went backwards.
#[derive(Clone, Default)]
struct Told(Arc<AtomicBool>);

impl Told {
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

impl Follow<ConfigMap> for Told {
    fn hear(&mut self, _: &Event<ConfigMap>) {}

    fn reached(&mut self, _: &Snapshot<ConfigMap>, how: Reached) {
        self.0.fetch_or(how.went_back, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_went_backwards_leads_to_a_list_of_the_newest_state() {
    let server = FakeServer::new();
    ["a", "b", "c"]
        .into_iter()
        .for_each(|name| server.put(name));
    let (running, heard) = Running::synced(&server).await;
    let told = Told::default();
    running.informer.follow("test", told.clone());
    seconds(10).await;
    server.bookmark();
    settle().await;
    assert!(!told.take());

    server.put_back(1);
    server.bookmark();
    seconds(5).await;
    assert_eq!(server.requests(), ["list limit 500", "watch from 1"]);
    assert!(told.take());
    assert!(running.get("a").is_some() && running.get("c").is_none());
    let snapshot = running.informer.lister().snapshot();
    assert_eq!(snapshot.resource_version(), Some("1"));
    drop(heard);
}

#[tokio::test(start_paused = true)]
async fn after_a_restore_an_object_of_equal_version_has_its_new_content() {
    for streaming in [Streaming::Unasked, Streaming::Served] {
        let server = FakeServer::new().streaming(streaming);
        server.put("a");
        server.put_data("a", "before");
        server.put_bad("b");
        let (running, heard) = Running::synced(&server).await;
        let told = Told::default();
        running.informer.follow("test", told.clone());
        seconds(10).await;
        server.put_back(1);
        server.bookmark();
        // By the time of the list the server has caught up.
        server.put_data("a", "after");
        server.put_bad("b");
        seconds(5).await;
        let a = running.get("a").unwrap();
        assert_eq!(a.metadata.resource_version.as_deref(), Some("2"));
        assert_eq!(a.data.as_ref().unwrap()["key"], "after", "{streaming:?}");
        assert!(told.take(), "{streaming:?}");
        drop(heard);

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
async fn a_restore_that_only_a_list_shows_is_noticed() {
    for streaming in [Streaming::Unasked, Streaming::Served] {
        let server = FakeServer::new().streaming(streaming);
        server.put("a");
        server.put_data("a", "before");
        server.put("b");
        server.put("b");
        let (running, _) = Running::synced(&server).await;
        seconds(10).await;
        server.put_back(1);
        server.put_data("a", "after");
        server.end_watches(|| status(504, "Timeout", "Too large resource version: 4, current: 2"));
        seconds(20).await;
        let a = running.get("a").unwrap();
        assert_eq!(a.data.as_ref().unwrap()["key"], "after", "{streaming:?}");
        assert!(running.get("b").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_list_gets_one_of_the_newest_state_and_nothing_went_back() {
    let server = FakeServer::new();
    server.put("a");
    let (running, heard) = Running::synced(&server).await;
    let told = Told::default();
    running.informer.follow("test", told.clone());
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
    drop(heard);
}
