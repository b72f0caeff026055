use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Commit, CommitError, Compacted, Encoded, Key, Store, Write};
use crate::registry::GroupResource;
use crate::store::selector::{FieldSelector, LabelSelector, Selection};

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
                    match change.after.as_ref().and_then(|object| object.value().get("value")?.as_i64()) {
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

#[test]
fn a_state_reads_as_what_was_written_and_is_shared_while_it_is_read() {
    let object =
        json!({"metadata": {"name": "a"}, "number": 1.0, "text": "\u{1f600}\n\"", "big": u64::MAX});
    let object = Arc::new(object);
    let written = Encoded::new(7, &object);
    assert!(Arc::ptr_eq(&written.value(), &object));
    drop(object);
    let read = Encoded::read(7, written.json()).expect("it is JSON");
    assert_eq!(read.value(), written.value());
    let value = read.value();
    assert!(Arc::ptr_eq(&value, &read.value()));
}

#[test]
fn a_list_of_a_built_in_kind_shows_its_objects_without_their_type() {
    for (object, expected) in [
        (
            r#"{"action":"a","apiVersion":"v1","kind":"Event","x":{"kind":"b"}}"#,
            r#"{"action":"a","x":{"kind":"b"}}"#,
        ),
        (r#"{"apiVersion":"v1","kind":"Event"}"#, "{}"),
        (
            r#"{"apiVersion":"v1","a\"":[1,{}],"kind":"Event"}"#,
            r#"{"a\"":[1,{}]}"#,
        ),
    ] {
        let mut text = b"[".to_vec();
        Encoded::read(1, object.as_bytes())
            .expect("it is JSON")
            .write_untyped(&mut text);
        assert_eq!(String::from_utf8_lossy(&text), format!("[{expected}"));
    }
}

#[test]
fn old_states_use_a_bounded_amount_of_memory() {
    let store = Store::new(1_000_000);
    store.open(&things());
    let (resource, key) = (&things(), &Key::new(None, "a"));
    let text = "x".repeat(1024 * 1024);
    let mut expected = None;
    for _ in 0..70 {
        let write = Write::Put(json!({"metadata": {}, "text": text}));
        let namespace = None;
        let commit = Commit {
            resource,
            key,
            expected,
            write,
            namespace,
        };
        expected = store.commit(commit).ok().map(|entry| entry.version);
    }
    let read = |version| store.list_encoded(&things(), None, None, Some(version));
    let last = store.version();
    assert!(matches!(read(last - 60), Some(Ok(_))));
    assert!(matches!(read(last - 66), Some(Err(_))));
}

#[test]
fn a_selector_selects_encoded_objects_as_decoded_ones() {
    let kinds = crate::builtin::kinds();
    let events = kinds
        .iter()
        .find(|kind| kind.plural == "events" && kind.group.is_empty());
    let events = events.expect("it is built in");
    let objects = [
        json!({"metadata": {"labels": {"a": "1", "b/c.d": "2"}}, "source": {"component": "x"}, "type": "Normal"}),
        json!({"metadata": {"labels": {"a": "\"", "b": "\u{e4}"}, "name": "n"}, "reportingComponent": "x"}),
        json!({"metadata": {"labels": null}, "source": "x", "involvedObject": {"name": "n", "kind": 1}}),
        json!({"metadata": []}),
    ];
    let mut selected = 0;
    for object in objects {
        let encoded = Encoded::new(1, &Arc::new(object.clone()));
        for labels in ["", "a", "a=1", "!a", "b/c.d in (2,3)"] {
            for fields in [
                "",
                "source=x",
                "metadata.name!=n",
                "involvedObject.kind=1,type!=Normal",
            ] {
                let selection = Selection {
                    labels: LabelSelector::parse(labels).expect("it is a selector"),
                    fields: FieldSelector::parse(fields, events).expect("it is a selector"),
                };
                let expected = selection.matches(&object);
                assert_eq!(
                    selection.selects(&encoded),
                    expected,
                    "{labels} {fields} {object}"
                );
                selected += usize::from(expected);
            }
        }
    }
    assert!((20..60).contains(&selected), "{selected}");
}
