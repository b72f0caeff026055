use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Commit, CommitError, Compacted, Key, Store, Write};
use crate::registry::GroupResource;

type Model = BTreeMap<String, i64>;

fn things() -> GroupResource {
    GroupResource::new("demo.dev", "things")
}

/// Puts a number under a name, or removes the name.
fn write(store: &Store, name: &str, value: Option<i64>) -> Result<u64, CommitError> {
    let key = Key::new(None, name);
    let expected = store.get(&things(), &key).map(|entry| entry.version);
    let object = json!({"metadata": {"name": name}, "value": value});
    let write = match value {
        Some(_) => Write::Put(object),
        None => Write::Remove(object),
    };
    let (resource, key) = (&things(), &key);
    let namespace = None;
    let commit = Commit {
        resource,
        key,
        expected,
        write,
        namespace,
    };
    store.commit(commit).map(|entry| entry.version)
}

fn model(objects: impl IntoIterator<Item = Arc<Value>>) -> Model {
    let pairs = objects.into_iter().filter_map(|object| {
        let name = object.pointer("/metadata/name")?.as_str()?.to_owned();
        Some((name, object.get("value")?.as_i64()?))
    });
    pairs.collect()
}

proptest! {
    /// Every past state can be listed or is known to be compacted, and a watch from there leads to the current state.
    #[test]
    fn a_watch_from_any_version_replays_to_the_state_of_a_list(
        writes in prop::collection::vec((0_u8..5, prop::option::weighted(0.7, 0_i64..100)), 0..60),
        history in 1_usize..80,
    ) {
        let store = Store::new(history);
        store.open(&things());
        let mut states: Vec<(u64, Model)> = vec![(store.version(), Model::new())];
        for (name, value) in writes {
            let name = format!("n{name}");
            let mut state = states.last().map(|(_, state)| state.clone()).unwrap_or_default();
            if value.is_none() && !state.contains_key(&name) {
                continue;
            }
            let version = write(&store, &name, value).map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
            match value {
                Some(value) => state.insert(name, value),
                None => state.remove(&name),
            };
            states.push((version, state));
        }
        let last = states.last().map(|(_, state)| state.clone()).unwrap_or_default();
        let count = states.len() - 1;
        for (index, (version, state)) in states.into_iter().enumerate() {
            let listed = store.list(&things(), None, None, Some(version));
            let known = count - index <= history;
            let Some(Ok(snapshot)) = listed else {
                prop_assert!(!known, "version {version} is forgotten too early");
                continue;
            };
            prop_assert!(known, "version {version} is remembered too long");
            let mut replayed = model(snapshot.entries.into_iter().map(|entry| entry.object));
            prop_assert_eq!(&replayed, &state);
            let mut watch = store.watch(&things(), version).ok_or_else(|| TestCaseError::fail("the kind is held"))?;
            while let Some(Ok(batch)) = watch.take() {
                if batch.changes.is_empty() {
                    break;
                }
                for change in batch.changes {
                    let name = change.key.as_str().to_owned();
                    match change.after.and_then(|object| object.get("value")?.as_i64()) {
                        Some(value) => replayed.insert(name, value),
                        None => replayed.remove(&name),
                    };
                }
            }
            prop_assert_eq!(&replayed, &last);
        }
    }
}

#[test]
fn a_reader_that_is_too_slow_finds_its_position_compacted() {
    let store = Store::new(100);
    store.open(&things());
    let mut watch = store.watch(&things(), 1).expect("the kind is held");
    let version = write(&store, "a", Some(1)).expect("nobody else writes");
    store.compact();
    let taken = watch.take().expect("the kind is held");
    assert_eq!(
        taken.map(|batch| batch.version),
        Err(Compacted { oldest: version })
    );
}

#[test]
fn a_write_at_an_old_version_changes_nothing() {
    let store = Store::new(100);
    store.open(&things());
    let version = write(&store, "a", Some(1)).expect("nobody else writes");
    let (resource, key) = (&things(), &Key::new(None, "a"));
    for expected in [None, Some(version + 1)] {
        let write = Write::Put(json!({"metadata": {}}));
        let namespace = None;
        let refused = store.commit(Commit {
            resource,
            key,
            expected,
            write,
            namespace,
        });
        assert_eq!(
            refused.map(|entry| entry.version),
            Err(CommitError::Conflict)
        );
    }
    assert_eq!(store.version(), version);
}
