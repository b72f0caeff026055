//! One writer publishes while others read and add indexes.

use std::{collections::BTreeSet, sync::Arc};

use loom::thread;
use pilothouse::{k8s::api::core::v1::ConfigMap, resource::Object};

use super::{Index, IndexHandle, Snapshot, Store};
use crate::check;

fn named(name: &str, version: u64) -> ConfigMap {
    let mut made = ConfigMap::default();
    made.metadata.name = Some(name.to_owned());
    made.metadata.resource_version = Some(version.to_string());
    made
}

/// One batch of the writer: a reader sees all of it or nothing.
fn rename(store: &mut Store<ConfigMap>, from: &str, to: &str, version: u64) {
    store.remove(&named(from, version).key());
    let new = named(to, version);
    store.insert(new.key(), Arc::new(new));
    store.set_resource_version(&version.to_string());
    store.publish();
}

fn version(snapshot: &Snapshot<ConfigMap>) -> u64 {
    let version = snapshot.resource_version();
    version.map_or(0, |version| version.parse().unwrap())
}

fn names(snapshot: &Snapshot<ConfigMap>) -> BTreeSet<&str> {
    snapshot.iter().map(|(key, _)| key.name()).collect()
}

/// The index finds every object by its only value.
fn all(snapshot: &Snapshot<ConfigMap>, index: &IndexHandle<ConfigMap, u8>) -> BTreeSet<String> {
    let entries = snapshot.by(index, &1);
    entries.map(|(key, _)| key.name().to_owned()).collect()
}

#[test]
fn a_reader_sees_whole_batches_only_and_never_an_older_one_again() {
    check(3, || {
        let mut store = Store::new();
        rename(&mut store, "nothing", "a", 1);
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let lister = store.lister();
                thread::spawn(move || {
                    let mut newest = 1;
                    for _ in 0..2 {
                        let snapshot = lister.snapshot();
                        let version = version(&snapshot);
                        let expected = ["", "a", "b", "a"][usize::try_from(version).unwrap()];
                        assert_eq!(names(&snapshot), BTreeSet::from([expected]));
                        assert!(version >= newest, "{version} after {newest}");
                        newest = version;
                    }
                })
            })
            .collect();
        rename(&mut store, "a", "b", 2);
        rename(&mut store, "b", "a", 3);
        for reader in readers {
            reader.join().unwrap();
        }
        assert_eq!(version(&store.lister().snapshot()), 3);
    });
}

#[test]
fn an_index_that_is_added_while_the_writer_publishes_is_built_and_always_gives_the_right_answer() {
    check(3, || {
        let mut store = Store::new();
        rename(&mut store, "nothing", "a", 1);
        let adders: Vec<_> = (0..2)
            .map(|_| {
                let lister = store.lister();
                thread::spawn(move || {
                    let index = lister.add_index(Index::by(|_: &ConfigMap| [1]));
                    let snapshot = lister.snapshot();
                    let there: BTreeSet<_> = snapshot.iter().map(|(key, _)| key.name()).collect();
                    let found = all(&snapshot, &index);
                    assert!(found.iter().map(String::as_str).eq(there));
                    index
                })
            })
            .collect();
        rename(&mut store, "a", "b", 2);
        store.take_in_indexes();
        let indexes: Vec<_> = adders
            .into_iter()
            .map(|adder| adder.join().unwrap())
            .collect();
        // An index that came too late for the first call is built by the next one.
        store.take_in_indexes();
        let snapshot = store.lister().snapshot();
        assert_eq!(snapshot.index_sizes(), [(1, 1, 0), (1, 1, 0)]);
        for index in &indexes {
            assert_eq!(all(&snapshot, index), BTreeSet::from(["b".to_owned()]));
        }
    });
}
