//! A server whose state was put back, and informers that are asked to list anew.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::cache::{Event, Follow, Reached, Snapshot};

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
