//! What a queue of objects guarantees. The names of the rows in `tests/PARITY.md` refer to these tests.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{DeltaFifo, DeltaKind, Deltas, KnownObjects, ObjectDelta};
use crate::resource::ObjectKey;
use DeltaKind::{Added, Deleted, Replaced, Sync, Updated};

type Fifo = DeltaFifo<u32>;

fn key(name: &str) -> ObjectKey {
    ObjectKey::cluster(name)
}

/// A store that holds these objects.
struct Known(BTreeMap<ObjectKey, u32>);

impl Known {
    fn of(objects: &[(&str, u32)]) -> Self {
        Self(
            objects
                .iter()
                .map(|(name, value)| (key(name), *value))
                .collect(),
        )
    }
}

impl KnownObjects<u32> for Known {
    fn keys(&self) -> Vec<ObjectKey> {
        self.0.keys().cloned().collect()
    }

    fn get(&self, key: &ObjectKey) -> Option<u32> {
        self.0.get(key).copied()
    }
}

fn list(objects: &[(&str, u32)]) -> Vec<(ObjectKey, u32)> {
    objects
        .iter()
        .map(|(name, value)| (key(name), *value))
        .collect()
}

/// `a: Added 1, Updated 2`; `†` marks a tombstone.
fn shown(deltas: &Deltas<u32>) -> String {
    let one = |delta: &ObjectDelta<u32>| {
        let object = delta
            .object
            .map_or("?".to_owned(), |object| object.to_string());
        let mark = if delta.is_tombstone { "†" } else { "" };
        format!("{:?}{mark} {object}", delta.kind)
    };
    let all: Vec<_> = deltas.deltas.iter().map(one).collect();
    format!("{}: {}", deltas.key, all.join(", "))
}

/// Takes out everything.
fn drain(fifo: &mut Fifo) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(deltas) = fifo.pop() {
        lines.push(shown(&deltas));
        fifo.finish();
    }
    assert!(fifo.is_empty() && fifo.deltas() == 0);
    lines
}

#[test]
fn the_deltas_of_an_object_are_gathered_in_order_and_objects_keep_their_place() {
    let mut fifo = Fifo::new();
    fifo.add(key("a"), 1);
    fifo.add(key("b"), 2);
    fifo.update(key("a"), 3);
    fifo.delete(key("b"), 4, &());
    fifo.add(key("b"), 5);
    assert_eq!((fifo.len(), fifo.deltas()), (2, 5));
    assert_eq!(fifo.keys().collect::<Vec<_>>(), [&key("a"), &key("b")]);
    assert_eq!(fifo.get(&key("a")).len(), 2);
    assert_eq!(
        drain(&mut fifo),
        ["a: Added 1, Updated 3", "b: Added 2, Deleted 4, Added 5"]
    );
    assert!(fifo.get(&key("a")).is_empty());
}

#[test]
fn an_object_that_was_taken_out_goes_to_the_end_of_the_queue() {
    let mut fifo = Fifo::new();
    fifo.add(key("a"), 1);
    fifo.add(key("b"), 2);
    assert_eq!(shown(&fifo.pop().unwrap()), "a: Added 1");
    fifo.update(key("a"), 3);
    assert_eq!(drain(&mut fifo), ["b: Added 2", "a: Updated 3"]);
}

#[test]
fn two_deletions_in_a_row_become_one_and_a_final_state_is_kept() {
    let mut fifo = Fifo::new();
    fifo.add(key("a"), 1);
    fifo.delete(key("a"), 2, &());
    fifo.delete(key("a"), 3, &());
    fifo.replace([], &());
    assert_eq!(fifo.deltas(), 2);
    assert_eq!(drain(&mut fifo), ["a: Added 1, Deleted 3"]);
    fifo.add(key("b"), 1);
    fifo.replace([], &());
    fifo.delete(key("b"), 2, &());
    assert_eq!(drain(&mut fifo), ["b: Added 1, Deleted 2"]);
}

#[test]
fn a_deletion_of_an_object_that_nobody_has_is_left_out() {
    let mut fifo = Fifo::new();
    fifo.delete(key("a"), 1, &());
    assert!(fifo.is_empty());
    fifo.delete(key("a"), 1, &Known::of(&[("b", 1)]));
    assert!(fifo.is_empty());
    fifo.delete(key("a"), 1, &Known::of(&[("a", 1)]));
    assert_eq!(drain(&mut fifo), ["a: Deleted 1"]);
}

#[test]
fn a_list_deletes_what_the_store_has_and_the_list_has_not_after_the_listed_objects() {
    let mut fifo = Fifo::new();
    fifo.delete(key("c"), 9, &Known::of(&[("c", 3)]));
    let known = Known::of(&[("a", 1), ("b", 2), ("c", 3)]);
    fifo.replace(list(&[("d", 5), ("a", 4)]), &known);
    assert_eq!(
        drain(&mut fifo),
        [
            "c: Deleted 9",
            "d: Replaced 5",
            "a: Replaced 4",
            "b: Deleted† 2"
        ]
    );
}

#[test]
fn a_list_deletes_what_only_the_queue_has_in_its_newest_state() {
    let mut fifo = Fifo::new();
    fifo.add(key("a"), 1);
    fifo.update(key("a"), 2);
    fifo.add(key("b"), 3);
    fifo.replace(list(&[("b", 4)]), &Known::of(&[("a", 0)]));
    assert_eq!(
        drain(&mut fifo),
        [
            "a: Added 1, Updated 2, Deleted† 2",
            "b: Added 3, Replaced 4"
        ]
    );
}

#[test]
fn a_resync_delivers_known_objects_without_deltas_again() {
    let mut fifo = Fifo::new();
    fifo.update(key("a"), 5);
    fifo.resync(&Known::of(&[("a", 1), ("b", 2)]));
    assert_eq!(drain(&mut fifo), ["a: Updated 5", "b: Sync 2"]);
    fifo.resync(&());
    assert!(fifo.is_empty());
}

#[test]
fn a_queue_has_synced_when_all_objects_of_the_first_list_were_processed() {
    let mut fifo = Fifo::new();
    assert!(!fifo.has_synced());
    fifo.replace(list(&[("a", 1)]), &Known::of(&[("b", 2)]));
    fifo.add(key("c"), 3);
    for is_last in [false, true] {
        assert!(!fifo.has_synced());
        assert!(fifo.pop().unwrap().initial);
        assert!(!fifo.has_synced(), "taken out, but not processed");
        fifo.finish();
        assert_eq!(fifo.has_synced(), is_last);
    }
    assert!(!fifo.pop().unwrap().initial);
    assert!(fifo.has_synced());
    fifo.replace(list(&[("a", 1)]), &());
    assert!(fifo.has_synced(), "only the first list counts");
}

#[test]
fn an_empty_list_or_a_change_without_a_list_syncs_the_queue() {
    let mut fifo = Fifo::new();
    fifo.replace([], &());
    assert!(fifo.has_synced());
    let mut fifo = Fifo::new();
    fifo.add(key("a"), 1);
    assert!(fifo.has_synced());
    let mut fifo = Fifo::new();
    fifo.delete(key("a"), 1, &());
    assert!(fifo.has_synced());
}

#[test]
fn deltas_are_added_only_if_the_queue_has_none_of_their_object() {
    let mut fifo = Fifo::new();
    fifo.add(key("a"), 1);
    let taken = fifo.pop().unwrap();
    assert!(fifo.add_if_absent(taken.clone()));
    assert!(!fifo.add_if_absent(taken));
    assert_eq!(drain(&mut fifo), ["a: Added 1"]);
}

#[test]
fn deltas_that_failed_come_again_before_newer_ones_and_hold_back_the_sync() {
    let mut fifo = Fifo::new();
    fifo.replace(list(&[("a", 1), ("b", 2)]), &());
    let failed = fifo.pop().unwrap();
    fifo.update(key("c"), 3);
    fifo.update(key("a"), 4);
    fifo.requeue(failed);
    assert_eq!((fifo.len(), fifo.deltas()), (3, 4));
    let mut next = || {
        let deltas = fifo.pop().unwrap();
        let synced = fifo.has_synced();
        fifo.finish();
        (shown(&deltas), synced, fifo.has_synced())
    };
    assert_eq!(next(), ("b: Replaced 2".to_owned(), false, false));
    assert_eq!(next(), ("a: Replaced 1, Updated 4".to_owned(), false, true));
    assert_eq!(next(), ("c: Updated 3".to_owned(), true, true));
    let mut fifo = Fifo::new();
    fifo.add(key("a"), 1);
    fifo.add(key("b"), 2);
    let failed = fifo.pop().unwrap();
    fifo.requeue(failed);
    assert_eq!(drain(&mut fifo), ["b: Added 2", "a: Added 1"]);
}

/// The same queue as one list of deltas, searched from the front.
#[derive(Default)]
struct Model(Vec<(ObjectKey, DeltaKind, Option<u32>, bool)>);

/// The kind, the object, and whether the deletion was noticed by a list.
type ModelDelta = (DeltaKind, Option<u32>, bool);

impl Model {
    fn has(&self, key: &ObjectKey) -> bool {
        self.0.iter().any(|(queued, ..)| queued == key)
    }

    fn newest(&self, key: &ObjectKey) -> Option<u32> {
        let mut of_key = self.0.iter().filter(|(queued, ..)| queued == key);
        of_key.next_back().and_then(|(_, _, object, _)| *object)
    }

    fn pop(&mut self) -> Option<(ObjectKey, Vec<ModelDelta>)> {
        let key = self.0.first()?.0.clone();
        let (taken, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|one| one.0 == key);
        self.0 = left;
        let mut deltas: Vec<ModelDelta> = Vec::new();
        for (_, kind, object, is_tombstone) in taken {
            match deltas.last() {
                Some((Deleted, ..)) if kind == Deleted && is_tombstone => {}
                Some((Deleted, ..)) if kind == Deleted => {
                    deltas.pop();
                    deltas.push((kind, object, is_tombstone));
                }
                _ => deltas.push((kind, object, is_tombstone)),
            }
        }
        Some((key, deltas))
    }
}

proptest! {
    #[test]
    fn the_queue_equals_a_plain_list_of_deltas(
        steps in prop::collection::vec((0..7u8, 0..4usize, prop::collection::vec(any::<bool>(), 4)), 0..60)
    ) {
        let names = ["a", "b", "c", "d"].map(key);
        let (mut fifo, mut model) = (Fifo::new(), Model::default());
        let mut known = Known::of(&[]);
        let mut value = 0;
        for (step, index, chosen) in steps {
            value += 1;
            let name = names[index].clone();
            let chosen: Vec<_> = (names.iter().zip(&chosen)).filter(|(_, is)| **is).map(|(name, _)| name.clone()).collect();
            match step {
                0 => {
                    fifo.add(name.clone(), value);
                    model.0.push((name, Added, Some(value), false));
                }
                1 => {
                    fifo.update(name.clone(), value);
                    model.0.push((name, Updated, Some(value), false));
                }
                2 => {
                    fifo.delete(name.clone(), value, &known);
                    if model.has(&name) || known.0.contains_key(&name) {
                        model.0.push((name, Deleted, Some(value), false));
                    }
                }
                3 => {
                    fifo.replace(chosen.iter().map(|name| (name.clone(), value)), &known);
                    for name in &chosen {
                        model.0.push((name.clone(), Replaced, Some(value), false));
                    }
                    let mut queued: Vec<ObjectKey> = Vec::new();
                    for (name, ..) in &model.0 {
                        if !chosen.contains(name) && !queued.contains(name) {
                            queued.push(name.clone());
                        }
                    }
                    for name in queued {
                        let newest = model.newest(&name);
                        model.0.push((name, Deleted, newest, true));
                    }
                    for (name, object) in &known.0 {
                        if !chosen.contains(name) && !model.has(name) {
                            model.0.push((name.clone(), Deleted, Some(*object), true));
                        }
                    }
                }
                4 => {
                    fifo.resync(&known);
                    for (name, object) in &known.0 {
                        if !model.has(name) {
                            model.0.push((name.clone(), Sync, Some(*object), false));
                        }
                    }
                }
                5 => {
                    if let Some(failed) = fifo.pop() {
                        fifo.requeue(Deltas { initial: false, ..failed });
                    }
                }
                _ => {}
            }
            if step == 5 && let Some((name, deltas)) = model.pop() {
                // Nothing newer of the object can have come meanwhile.
                model.0.extend(deltas.into_iter().map(|(kind, object, tomb)| (name.clone(), kind, object, tomb)));
            }
            if step == 6 {
                let taken = fifo.pop();
                fifo.finish();
                let expected = model.pop();
                prop_assert_eq!(taken.is_some(), expected.is_some());
                if let (Some(taken), Some((name, deltas))) = (taken, expected) {
                    prop_assert_eq!(&taken.key, &name);
                    let found: Vec<_> = taken.deltas.iter().map(|delta| (delta.kind, delta.object, delta.is_tombstone)).collect();
                    prop_assert_eq!(&found, &deltas);
                    // The consumer's store.
                    match deltas.last() {
                        Some((Deleted, ..)) => known.0.remove(&name),
                        Some((_, Some(object), _)) => known.0.insert(name, *object),
                        _ => None,
                    };
                }
            }
            let keys: Vec<_> = fifo.keys().cloned().collect();
            prop_assert_eq!(keys.len(), fifo.len());
            let deltas: usize = keys.iter().map(|key| fifo.get(key).len()).sum();
            prop_assert_eq!(deltas, fifo.deltas());
        }
    }
}
