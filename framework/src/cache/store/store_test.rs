use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;

use super::Store;
use crate::{
    cache::{
        Entry, Index,
        fake::{object, undecodable},
    },
    resource::{Object, ObjectKey},
};

fn names<'a>(
    entries: impl Iterator<Item = (&'a ObjectKey, &'a Entry<ConfigMap>)>,
) -> BTreeSet<String> {
    entries.map(|(key, _)| key.to_string()).collect()
}

#[test]
fn readers_see_changes_only_when_they_are_published() {
    let mut store = Store::new();
    let lister = store.lister();
    let web = object("default", "web", "uid", 1, &[]);
    store.insert(web.key(), Arc::new(web.clone()));
    assert!(lister.get(&web.key()).unwrap().is_none());
    store.publish();
    assert!(lister.get(&web.key()).unwrap().is_some());
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let mut store = Store::new();
    let web = object("default", "web", "uid", 1, &["owner"]);
    store.insert(web.key(), Arc::new(web.clone()));
    store.publish();
    let before = store.lister().snapshot();
    store.remove(&web.key());
    store.publish();
    assert_eq!((before.len(), store.lister().len()), (1, 0));
    assert_eq!(before.by_owner("owner").count(), 1);
}

#[test]
fn an_undecodable_object_has_a_place_and_reading_it_is_an_error() {
    let mut store = Store::<ConfigMap>::new();
    let bad = Arc::new(undecodable("default", "bad", "uid", 3));
    store.insert_undecodable(bad.clone(), None);
    store.publish();
    let lister = store.lister();
    assert_eq!(lister.get(&bad.key).unwrap_err(), bad);
    let listing = lister.list();
    assert_eq!(
        (listing.items.len(), listing.undecodable.len(), lister.len()),
        (0, 1, 1)
    );
    store.remove(&bad.key);
    assert_eq!(store.working().undecodable(), 0);
}

#[test]
fn removing_the_last_object_leaves_nothing_of_its_namespace() {
    let mut store = Store::new();
    let objects: Vec<_> = (0..20)
        .map(|number| object("default", &format!("o{number}"), "uid", 1, &[]))
        .collect();
    for _ in 0..2 {
        for object in &objects {
            store.insert(object.key(), Arc::new(object.clone()));
        }
        store.publish();
    }
    assert_eq!(store.back_buffer_count(), 1);
    for object in &objects {
        store.remove(&object.key());
    }
    store.publish();
    assert_eq!(store.back_buffer_count(), 0);
}

#[test]
fn removing_the_last_object_leaves_no_empty_index_set() {
    let mut store = Store::new();
    let web = object("default", "web", "uid", 1, &["owner"]);
    store.insert(web.key(), Arc::new(web.clone()));
    store.remove(&web.key());
    assert_eq!(store.working().len(), 0);
    assert_eq!(store.working().namespace_count(), 0);
    assert_eq!(store.working().owner_count(), 0);
}

#[test]
fn a_reader_on_another_thread_sees_whole_batches_while_their_memory_is_used_again() {
    const OBJECTS: usize = 200;
    let mut store = Store::new();
    let lister = store.lister();
    let write = |store: &mut Store<ConfigMap>, version: u64| {
        for number in 0..OBJECTS {
            let object = object("default", &format!("o{number}"), "uid", version, &[]);
            store.insert(object.key(), Arc::new(object));
        }
        store.publish();
    };
    write(&mut store, 0);
    let reader = std::thread::spawn(move || {
        // The reader keeps the last snapshot while it reads the next one.
        let mut kept = lister.snapshot();
        loop {
            let snapshot = lister.snapshot();
            for snapshot in [&kept, &snapshot] {
                let versions = snapshot.iter().map(|(_, entry)| entry.resource_version());
                let versions: Vec<_> = versions.collect();
                assert_eq!(versions.len(), OBJECTS);
                assert!(
                    versions.windows(2).all(|pair| pair[0] == pair[1]),
                    "{versions:?}"
                );
                if versions[0] == Some("300") {
                    return;
                }
            }
            kept = snapshot;
        }
    });
    (1..=300).for_each(|version| write(&mut store, version));
    reader.join().unwrap();
}

#[derive(Clone, Debug)]
enum Step {
    Insert { name: u8, uid: u8, owners: Vec<u8> },
    InsertBad { name: u8 },
    Remove { name: u8 },
    Publish,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..12u8, 0..3u8, prop::collection::vec(0..3u8, 0..3))
            .prop_map(|(name, uid, owners)| Step::Insert { name, uid, owners }),
        1 => (0..12u8).prop_map(|name| Step::InsertBad { name }),
        2 => (0..12u8).prop_map(|name| Step::Remove { name }),
        1 => Just(Step::Publish),
    ]
}

proptest! {
    #[test]
    fn the_store_and_its_indexes_equal_a_plain_map(steps in prop::collection::vec(step(), 0..80)) {
        let mut store = Store::<ConfigMap>::new();
        let mut model: BTreeMap<String, (bool, BTreeSet<String>)> = BTreeMap::new();
        let mut shown = model.clone();
        let place = |name: u8| (format!("ns{}", name % 3), format!("o{name}"));
        for (version, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert { name, uid, owners } => {
                    let (namespace, name) = place(name);
                    let owners: Vec<String> = owners.iter().map(|o| format!("owner{o}")).collect();
                    let refs: Vec<&str> = owners.iter().map(String::as_str).collect();
                    let made = object(&namespace, &name, &format!("uid{uid}"), version as u64, &refs);
                    let key = made.key();
                    let old = store.insert(key.clone(), Arc::new(made));
                    let before = model.insert(key.to_string(), (true, owners.into_iter().collect()));
                    prop_assert_eq!(old.is_some(), before.is_some());
                }
                Step::InsertBad { name } => {
                    let (namespace, name) = place(name);
                    let bad = undecodable(&namespace, &name, "uid", version as u64);
                    let key = bad.key.clone();
                    store.insert_undecodable(Arc::new(bad), None);
                    model.insert(key.to_string(), (false, BTreeSet::new()));
                }
                Step::Remove { name } => {
                    let (namespace, name) = place(name);
                    let key = ObjectKey::namespaced(&namespace, &name);
                    let before = model.remove(key.as_str());
                    prop_assert_eq!(store.remove(&key).is_some(), before.is_some());
                }
                Step::Publish => {
                    store.publish();
                    shown = model.clone();
                }
            }
            let snapshot = store.lister().snapshot();
            prop_assert_eq!(snapshot.len(), shown.len());
            prop_assert_eq!(names(snapshot.iter()), shown.keys().cloned().collect::<BTreeSet<_>>());
            prop_assert_eq!(snapshot.undecodable(), shown.values().filter(|(good, _)| !good).count());
            for index in 0..3 {
                let (namespace, owner) = (format!("ns{index}"), format!("owner{index}"));
                let prefix = format!("{namespace}/");
                prop_assert_eq!(
                    names(snapshot.in_namespace(&namespace)),
                    shown.keys().filter(|key| key.starts_with(&prefix)).cloned().collect::<BTreeSet<_>>()
                );
                prop_assert_eq!(
                    names(snapshot.by_owner(&owner)),
                    shown.iter().filter(|(_, (_, owners))| owners.contains(&owner))
                        .map(|(key, _)| key.clone()).collect::<BTreeSet<_>>()
                );
            }
        }
    }
}

#[test]
fn the_resource_version_is_published_with_the_changes() {
    let mut store = Store::<ConfigMap>::new();
    store.set_resource_version("7");
    assert_eq!(store.lister().snapshot().resource_version(), None);
    store.publish();
    assert_eq!(store.lister().snapshot().resource_version(), Some("7"));
}

#[test]
fn changes_are_published_with_a_new_index_and_not_without_one() {
    let mut store = Store::new();
    let web = object("default", "web", "uid", 1, &[]);
    store.insert(web.key(), Arc::new(web));
    store.take_in_indexes();
    assert_eq!(store.lister().len(), 0);
    let _by_app = store.add_index(Index::label("app"));
    store.take_in_indexes();
    assert_eq!(store.lister().len(), 1);
}
