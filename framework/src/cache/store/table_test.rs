use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;

use super::table::{BackBuffers, Table};
use crate::resource::ObjectKey;

fn key(number: u16) -> ObjectKey {
    ObjectKey::namespaced("default", &format!("o{number}"))
}

type Model = BTreeMap<String, u32>;

fn rows(table: &Table<u32>) -> Model {
    let rows: Vec<_> = table.iter().collect();
    let model: Model = rows
        .iter()
        .map(|(key, value)| (key.to_string(), **value))
        .collect();
    assert_eq!(rows.len(), model.len(), "a key is there twice");
    model
}

/// A table as its writer has it, and what it should contain.
struct Written {
    table: Table<u32>,
    buffers: BackBuffers<u32>,
    model: Model,
    /// The last snapshot that is published.
    published: Table<u32>,
    /// Clones that a reader has, and what they should contain.
    held: Vec<(Table<u32>, Model)>,
}

impl Written {
    fn new() -> Self {
        let table = Table::new("default".into());
        Self {
            published: table.clone(),
            table,
            buffers: BackBuffers::default(),
            model: Model::new(),
            held: Vec::new(),
        }
    }

    /// Published with so many rows.
    fn published(count: u16) -> Self {
        let mut written = Self::new();
        written.put(0..count, 0);
        written.publish();
        written
    }

    fn put(&mut self, numbers: std::ops::Range<u16>, value: u32) {
        for number in numbers {
            let before = self.model.insert(key(number).to_string(), value);
            let checked = |_: &ObjectKey, old: Option<&u32>| {
                assert_eq!(old, before.as_ref());
                value
            };
            let buffers = Some(&mut self.buffers);
            let old = self.table.put(key(number), checked, buffers);
            assert_eq!(old.map(|row| row.value), before);
        }
    }

    fn remove(&mut self, numbers: std::ops::Range<u16>) {
        for number in numbers {
            let old = self.table.remove(&key(number), Some(&mut self.buffers));
            let before = self.model.remove(&key(number).to_string());
            assert_eq!(old.map(|row| row.value), before);
        }
    }

    fn publish(&mut self) {
        self.published = self.table.clone();
        self.buffers.apply_pending();
        let (_, pending) = self.buffers.sizes();
        assert_eq!(pending, 0, "a back buffer lacks a published change");
    }

    fn check(&self) {
        assert_eq!(rows(&self.table), self.model);
        assert_eq!(self.table.len(), self.model.len());
        for (name, value) in &self.model {
            let (_, name) = name.split_once('/').unwrap();
            let key = ObjectKey::namespaced("default", name);
            assert_eq!(self.table.get(&key), Some(value));
        }
        for (snapshot, model) in &self.held {
            assert_eq!(rows(snapshot), *model);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Puts so many keys from a number on.
    Put(u16, u16),
    Remove(u16, u16),
    Publish,
    /// A reader takes the published snapshot.
    Hold,
    /// A reader takes a snapshot of what is not published yet.
    HoldUnpublished,
    /// A reader changes the published snapshot for itself.
    Overlay(u16),
    Release,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..600u16, 1..200u16).prop_map(|(from, count)| Step::Put(from, count)),
        4 => (0..600u16, 1..4u16).prop_map(|(from, count)| Step::Put(from, count)),
        2 => (0..600u16, 1..400u16).prop_map(|(from, count)| Step::Remove(from, count)),
        2 => (0..600u16, 1..4u16).prop_map(|(from, count)| Step::Remove(from, count)),
        4 => Just(Step::Publish),
        1 => Just(Step::Hold),
        1 => Just(Step::HoldUnpublished),
        1 => (0..600u16).prop_map(Step::Overlay),
        1 => Just(Step::Release),
    ]
}

proptest! {
    #[test]
    fn a_table_equals_a_plain_map_and_a_snapshot_never_changes(
        steps in prop::collection::vec(step(), 1..40)
    ) {
        let mut written = Written::new();
        for (version, step) in (0..).zip(steps) {
            match step {
                Step::Put(from, count) => written.put(from..from + count, version),
                Step::Remove(from, count) => written.remove(from..from + count),
                Step::Publish => written.publish(),
                Step::Hold => {
                    let snapshot = written.published.clone();
                    let model = rows(&snapshot);
                    written.held.push((snapshot, model));
                }
                Step::HoldUnpublished => {
                    let snapshot = written.table.clone();
                    written.held.push((snapshot, written.model.clone()));
                }
                Step::Overlay(number) => {
                    let mut snapshot = written.published.clone();
                    let mut model = rows(&snapshot);
                    snapshot.put(key(number), |_, _| version, None);
                    model.insert(key(number).to_string(), version);
                    snapshot.remove(&key(number + 1), None);
                    model.remove(&key(number + 1).to_string());
                    written.held.push((snapshot, model));
                }
                Step::Release => written.held.clear(),
            }
            written.check();
        }
    }
}

#[test]
fn buckets_come_and_go_with_the_rows() {
    let mut written = Written::published(1000);
    assert_eq!(written.table.bucket_count(), 1000 / 40);
    written.remove(3..1000);
    written.check();
    assert_eq!(written.table.bucket_count(), 1);
}

#[test]
fn a_change_after_the_second_publication_copies_no_bucket() {
    let mut written = Written::published(1000);
    let first = written.table.bucket_addresses();
    written.put(0..1000, 1);
    written.publish();
    let second = written.table.bucket_addresses();
    written.put(0..1000, 2);
    // The buckets of the first publication again, and no others.
    assert_eq!(written.table.bucket_addresses(), first);
    written.publish();
    written.put(0..1000, 3);
    assert_eq!(written.table.bucket_addresses(), second);
    written.check();
}

#[test]
fn a_replaced_value_is_dropped_at_the_publication() {
    let (mut table, mut buffers) = (Table::new("default".into()), BackBuffers::default());
    let filler = Arc::new(0);
    for number in 0..20 {
        table.put(key(number), |_, _| filler.clone(), Some(&mut buffers));
    }
    let values: Vec<_> = (0..4).map(Arc::new).collect();
    let mut published = table.clone();
    for value in &values {
        table.put(key(1), |_, _| value.clone(), Some(&mut buffers));
        published = table.clone();
        buffers.apply_pending();
    }
    assert_eq!(buffers.sizes(), (1, 0));
    let counts: Vec<_> = values.iter().map(Arc::strong_count).collect();
    assert_eq!(counts, [1, 1, 1, 2], "only the last value is in the table");
    table.remove(&key(1), Some(&mut buffers));
    published.clone_from(&table);
    buffers.apply_pending();
    assert_eq!(Arc::strong_count(&values[3]), 1);
    assert_eq!(published.len(), 19);
}

#[test]
fn changes_that_nobody_publishes_do_not_pile_up() {
    let mut written = Written::published(20);
    for version in 1..1000 {
        written.put(3..4, version);
    }
    let (_, pending) = written.buffers.sizes();
    assert!(pending <= 21, "{pending}");
    written.publish();
    written.put(3..4, 1000);
    written.check();
}

#[test]
fn a_back_buffer_that_a_reader_has_is_left_to_it() {
    let mut written = Written::published(20);
    let snapshot = written.published.clone();
    written.put(1..2, 1);
    written.publish();
    assert_eq!(written.buffers.sizes().0, 0);
    written.put(2..3, 2);
    drop(snapshot);
    written.publish();
    written.check();
    assert_eq!(written.buffers.sizes().0, 1);
}

#[test]
fn a_bucket_with_few_rows_has_no_back_buffer() {
    let mut written = Written::published(8);
    written.put(1..2, 1);
    written.publish();
    assert_eq!(written.buffers.sizes().0, 0);
    written.put(8..20, 2);
    written.publish();
    written.put(1..2, 3);
    written.publish();
    assert_eq!(written.buffers.sizes().0, 1);
    written.remove(3..20);
    written.publish();
    written.put(1..2, 4);
    written.publish();
    assert_eq!(written.buffers.sizes().0, 0);
    written.check();
}
