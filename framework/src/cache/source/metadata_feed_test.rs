use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;

use super::metadata_feed::{FeedBatch, FeedPoll, MetadataFeed, SharedEvent, SharedSnapshot};
use crate::{
    cache::{Entry, Snapshot, Store, fake::object},
    client::Change,
    resource::Object,
};

/// The state of a cache with these objects.
fn state(names: &[&str], version: &str) -> Snapshot<ConfigMap> {
    let mut store = Store::new();
    for name in names {
        let object = object("default", name, "u", 1, &[]);
        store.insert(object.key(), Arc::new(object));
    }
    store.set_resource_version(version);
    store.working().clone()
}

fn snapshot(version: &str) -> Arc<dyn SharedSnapshot> {
    Arc::new(state(&["a"], version))
}

fn modified(version: u64) -> SharedEvent {
    let object: Entry<ConfigMap> = object("default", "a", "u", version, &[]).into();
    SharedEvent::Changed(Change::Modified, object.shared().unwrap())
}

fn batch(events: Option<Vec<SharedEvent>>, version: &str) -> FeedBatch {
    FeedBatch {
        events,
        snapshot: Some(snapshot(version)),
    }
}

fn next(feed: &MetadataFeed) -> String {
    match feed.poll() {
        FeedPoll::Event(SharedEvent::Reached(version)) => format!("reached {version}"),
        FeedPoll::Event(SharedEvent::Changed(_, object)) => {
            format!("modified {}", object.resource_version().unwrap())
        }
        FeedPoll::Wait => "wait".to_owned(),
        FeedPoll::List => "list".to_owned(),
        FeedPoll::Ended => "ended".to_owned(),
    }
}

fn all(feed: &MetadataFeed) -> Vec<String> {
    let next = std::iter::repeat_with(|| next(feed));
    next.take_while(|next| next != "wait").collect()
}

/// A feed whose reader has a list of version 5.
fn following() -> MetadataFeed {
    let feed = MetadataFeed::new();
    feed.synced(snapshot("5"));
    assert!(feed.take_list("0").is_some());
    feed
}

#[test]
fn a_reader_begins_with_the_newest_list_that_is_not_older_than_it_asks_for() {
    let feed = MetadataFeed::new();
    assert!(!feed.has_list("0"));
    feed.push(batch(Some(Vec::new()), "9"));
    assert!(feed.has_list("0") && feed.has_list("9") && !feed.has_list("10"));
    assert!(feed.take_list("10").is_none());
    feed.push(batch(Some(vec![modified(10)]), "10"));
    let list = feed.take_list("10").unwrap();
    assert_eq!((list.resource_version(), list.items.len()), (Some("10"), 1));
    // The change is in the list.
    assert_eq!(next(&feed), "wait");
    assert!(feed.take_list("0").is_none(), "one list, then changes");
}

#[test]
fn a_list_with_an_object_that_does_not_decode_cannot_be_taken() {
    let mut store = Store::<ConfigMap>::new();
    let bad = crate::cache::fake::undecodable("default", "bad", "u", 1);
    store.insert_undecodable(Arc::new(bad), None);
    store.set_resource_version("5");
    let feed = MetadataFeed::new();
    feed.synced(Arc::new(store.working().clone()));
    assert!(feed.take_list("0").is_none());
}

#[test]
fn changes_follow_in_order_and_a_bookmark_tells_a_later_version() {
    let feed = following();
    feed.push(batch(Some(vec![modified(6), modified(7)]), "7"));
    feed.push(batch(Some(Vec::new()), "8"));
    feed.push(batch(Some(Vec::new()), "9"));
    assert_eq!(feed.reader_version().as_deref(), Some("5"));
    assert_eq!(next(&feed), "modified 6");
    assert_eq!(feed.reader_version().as_deref(), Some("6"));
    assert_eq!(all(&feed), ["modified 7", "reached 9"]);
    assert_eq!(feed.reader_version().as_deref(), Some("9"));
}

#[test]
fn a_change_that_is_not_known_alone_leads_to_a_list() {
    let feed = following();
    feed.push(batch(Some(vec![modified(6)]), "6"));
    feed.push(FeedBatch {
        events: None,
        snapshot: None,
    });
    assert_eq!(next(&feed), "wait", "while the other informer reads a list");
    assert!(feed.reader_version().is_none() && !feed.has_list("0"));
    feed.push(batch(None, "20"));
    assert_eq!(next(&feed), "list");
    assert!(feed.take_list("6").is_some() && feed.reader_version().is_some());
}

#[test]
fn a_slow_reader_begins_with_a_list_again() {
    let feed = following();
    let events = |from: u64, count: usize| Some((from..).take(count).map(modified).collect());
    feed.push(batch(events(6, MetadataFeed::BOUND), "5"));
    assert!(feed.reader_version().is_some());
    feed.push(batch(events(9000, 1), "9000"));
    assert_eq!(next(&feed), "list");
}

#[test]
fn the_end_of_the_other_informer_ends_the_feed() {
    let feed = following();
    feed.push(batch(Some(vec![modified(6)]), "6"));
    feed.end();
    assert!(feed.has_ended());
    assert_eq!(next(&feed), "ended");
    feed.push(batch(Some(Vec::new()), "7"));
    feed.synced(snapshot("7"));
    assert_eq!(next(&feed), "ended");
}
