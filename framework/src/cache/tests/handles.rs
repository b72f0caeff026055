//! The handles that events have: what they tell without decoding, and what a version that does not decode looks like.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use k8s_openapi::{
    api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp,
};

use super::packed::Counted;
use crate::{
    cache::{
        Batch, Delta, Entry, Event, Store,
        fake::{object, undecodable},
        informer::Processor,
    },
    resource::{Object, Undecodable},
};

/// The events of these deltas, in a cache that has read its first list.
fn events(store: Store<ConfigMap>, deltas: Vec<Delta<ConfigMap>>) -> Vec<Event<ConfigMap>> {
    let batch = Batch {
        deltas,
        initial: false,
        listed: false,
        gathered: false,
    };
    let mut processor = Processor::new(store, None);
    processor.add(0, None);
    processor.process(0, batch)
}

fn good(uid: &str, version: u64) -> Delta<ConfigMap> {
    Delta::Set(object("default", "web", uid, version, &[]).into())
}

fn bad(uid: &str, version: u64) -> Delta<ConfigMap> {
    Delta::SetUndecodable(Box::new(undecodable("default", "web", uid, version)))
}

/// The present version, as readers get it, and the last one that decoded.
fn versions(entry: &Entry<ConfigMap>) -> (Result<u64, String>, Option<u64>) {
    let version = |object: &ConfigMap| object.resource_version().unwrap().parse().unwrap();
    let object = entry.object();
    let object = object.map(|object| version(&object));
    let object = object.map_err(|object: Arc<Undecodable>| object.reason.clone());
    (object, entry.last_object().as_deref().map(version))
}

#[test]
fn a_version_that_does_not_decode_is_an_update_whose_handle_has_the_last_version_that_decoded() {
    let events = events(
        Store::new(),
        vec![
            good("u", 1),
            bad("u", 2),
            bad("u", 2),
            bad("u", 3),
            good("u", 4),
        ],
    );
    let [
        Event::Added { .. },
        Event::Updated { old: one, new: two },
        Event::Updated { new: three, .. },
        Event::Updated { old, new: four },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    let reason = || Err("data.x: expected a string".to_owned());
    assert_eq!(versions(one), (Ok(1), Some(1)));
    assert_eq!(versions(two), (reason(), Some(1)));
    assert_eq!(two.resource_version(), Some("2"));
    assert_eq!(versions(three), (reason(), Some(1)));
    assert_eq!(versions(old), (reason(), Some(1)));
    assert_eq!(old.resource_version(), Some("3"));
    assert_eq!(versions(four), (Ok(4), Some(4)));
}

#[test]
fn an_object_of_which_no_version_decoded_is_added_updated_and_deleted_with_errors() {
    let gone = Delta::DeletedUndecodable(Box::new(undecodable("default", "web", "u", 3)));
    let events = events(Store::new(), vec![bad("u", 1), bad("u", 2), gone]);
    let lines: Vec<_> = events.iter().map(|event| format!("{event:?}")).collect();
    let expected = [
        "Added(default/web at 1, undecodable)",
        "Updated(default/web at 2, undecodable)",
        "Deleted(default/web at 2, undecodable)",
    ];
    assert_eq!(lines, expected);
    assert!(
        events
            .iter()
            .all(|event| event.entry().last_object().is_none())
    );
}

#[test]
fn an_object_that_was_recreated_and_does_not_decode_has_no_last_version() {
    let events = events(Store::new(), vec![good("u", 1), bad("v", 2), good("w", 3)]);
    let [
        _,
        Event::Recreated { old: u, new: v },
        Event::Recreated { new: w, .. },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(versions(u), (Ok(1), Some(1)));
    assert_eq!((v.uid(), v.last_object()), (Some("v"), None));
    assert_eq!(versions(w), (Ok(3), Some(3)));
}

#[test]
fn a_version_without_a_readable_uid_is_the_same_object_and_hides_no_recreation() {
    let mut unknown = undecodable("default", "web", "u", 2);
    unknown.uid = None;
    let unknown = || Delta::SetUndecodable(Box::new(unknown.clone()));
    let kind = |deltas| {
        let events = events(Store::new(), deltas);
        let lines = events.iter().map(|event| format!("{event:?}"));
        lines.collect::<Vec<_>>().join(" ")
    };
    let same = kind(vec![good("u", 1), unknown(), good("u", 3)]);
    let other = kind(vec![good("u", 1), unknown(), good("v", 3)]);
    let before = "Added(default/web at 1) Updated(default/web at 2, undecodable) ";
    assert_eq!(same, format!("{before}Updated(default/web at 3)"));
    assert_eq!(other, format!("{before}Recreated(default/web at 3)"));
}

#[test]
fn an_event_of_a_packed_cache_decodes_a_replaced_version_only_for_a_listener_that_asks_for_it() {
    let decoded = Arc::new(AtomicUsize::new(0));
    let store = Store::packed(Counted(decoded.clone()));
    let events = events(store, vec![good("u", 1), good("u", 2)]);
    let Event::Updated { old, new } = &events[1] else {
        panic!("{events:?}");
    };
    assert_eq!(versions(new), (Ok(2), Some(2)));
    assert_eq!((old.resource_version(), old.uid()), (Some("1"), Some("u")));
    assert_eq!(decoded.load(Ordering::Relaxed), 0);
    assert_eq!(old.object().unwrap().resource_version(), Some("1"));
    assert_eq!(decoded.load(Ordering::Relaxed), 1);
}

#[test]
fn an_entry_has_the_same_metadata_decoded_packed_and_undecodable() {
    let mut object = object("default", "web", "u", 1, &["owner"]);
    object.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
    object.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    let mut bad = undecodable("default", "web", "u", 1);
    bad.labels = object.metadata.labels.clone().unwrap();
    bad.owner_references = object.metadata.owner_references.clone().unwrap();
    bad.is_deleting = true;
    let object = Arc::new(object);
    let entry = |mut store: Store<ConfigMap>| {
        store.insert(object.key(), object.clone());
        store.remove(&object.key()).unwrap()
    };
    let entries = [
        entry(Store::new()),
        entry(Store::packed(Counted(Arc::default()))),
        Entry::of_undecodable(Arc::new(bad), None),
    ];
    for entry in entries {
        assert_eq!(entry.key(), object.key());
        assert_eq!(entry.uid(), Some("u"));
        assert_eq!(Some(&*entry.labels()), object.labels());
        let owners = object.metadata.owner_references.as_deref();
        assert_eq!(Some(&*entry.owner_references()), owners);
        assert!(entry.is_deleting());
    }
    let plain = Entry::decoded(Arc::new(ConfigMap::default()));
    assert!(plain.labels().is_empty() && plain.owner_references().is_empty());
    assert!(!plain.is_deleting());
}

/// Objects of one name in many namespaces are not the same object again, or a list of them would seem to have no end.
#[test]
fn a_handle_tells_namespace_and_name_as_its_key_does() {
    let mut cluster = object("", "web", "u", 1, &[]);
    cluster.metadata.namespace = None;
    let handles: [Entry<ConfigMap>; 4] = [
        object("default", "web", "u", 1, &[]).into(),
        object("", "web", "u", 1, &[]).into(),
        cluster.into(),
        Entry::of_undecodable(Arc::new(undecodable("default", "web", "u", 1)), None),
    ];
    for (handle, namespace) in handles
        .iter()
        .zip([Some("default"), None, None, Some("default")])
    {
        let key = handle.key();
        assert_eq!((key.namespace(), key.name()), (namespace, "web"));
        handle.with_name(|namespace, name| {
            assert_eq!((namespace, name), (key.namespace(), key.name()));
        });
    }
}
