//! What the FIFO guarantees.

use proptest::prelude::*;

use super::{Delta, Entry, RealFifo};
use crate::client::ObjectList;

fn page(items: Vec<u32>) -> ObjectList<Entry<u32>> {
    ObjectList {
        items: items.into_iter().map(Entry::from).collect(),
        ..ObjectList::default()
    }
}

fn ended() -> Delta<u32> {
    Delta::ListEnded {
        resource_version: "1".into(),
    }
}

/// A queue whose first list was processed.
fn synced() -> RealFifo<u32> {
    let mut fifo = RealFifo::new();
    fifo.push(Delta::ListStarted);
    fifo.push(ended());
    drain(&mut fifo);
    assert!(fifo.has_synced());
    fifo
}

fn drain(fifo: &mut RealFifo<u32>) {
    while fifo.pop().is_some() {
        fifo.finish();
    }
}

#[test]
fn the_queue_has_synced_only_when_the_first_list_was_processed() {
    let mut fifo = RealFifo::new();
    fifo.push(Delta::ListStarted);
    fifo.push_page(page(vec![1, 2]));
    fifo.push(ended());
    fifo.push(Delta::Set(Entry::from(3)));
    assert!(!fifo.has_synced());
    let first = fifo.pop().unwrap();
    assert_eq!((first.deltas.len(), first.initial), (4, true));
    assert!(!fifo.has_synced(), "taken out, but not processed");
    fifo.finish();
    assert!(fifo.has_synced());
    assert!(!fifo.pop().unwrap().initial);
}

#[test]
fn a_batch_belongs_to_a_list_completely_or_not_at_all() {
    let mut fifo = RealFifo::new();
    let set = |number: u32| Delta::Set(Entry::from(number));
    let list = [Delta::ListStarted, set(1), ended()];
    let relist = [Delta::ListStarted, set(3), set(4), ended()];
    let deltas = list.into_iter().chain([set(2)]).chain(relist);
    deltas.chain([set(5)]).for_each(|delta| fifo.push(delta));
    let mut batches = Vec::new();
    while let Some(batch) = fifo.pop() {
        fifo.finish();
        batches.push((batch.deltas.len(), batch.listed, batch.initial));
    }
    let (first, later) = ((3, true, true), (4, true, false));
    assert_eq!(
        batches,
        [first, (1, false, false), later, (1, false, false)]
    );
}

#[test]
fn all_batches_of_a_long_list_belong_to_the_list() {
    let mut fifo = synced();
    fifo.push(Delta::ListStarted);
    fifo.push_page(page(vec![0; RealFifo::<u32>::BATCH]));
    assert!(fifo.pop().unwrap().listed && fifo.pop().unwrap().listed);
    fifo.push(ended());
    assert!(fifo.pop().unwrap().listed);
    fifo.push(Delta::Set(Entry::from(1)));
    assert!(!fifo.pop().unwrap().listed);
}

#[test]
fn an_empty_first_list_syncs_the_queue() {
    let mut fifo = RealFifo::new();
    fifo.push(Delta::ListStarted);
    fifo.push(ended());
    drain(&mut fifo);
    assert!(fifo.has_synced());
}

#[test]
fn a_list_that_never_ended_does_not_sync_the_queue() {
    let mut fifo = RealFifo::new();
    fifo.push(Delta::ListStarted);
    fifo.push_page(page(vec![1]));
    drain(&mut fifo);
    fifo.push(Delta::ListStarted);
    drain(&mut fifo);
    assert!(!fifo.has_synced());
    fifo.push(ended());
    drain(&mut fifo);
    assert!(fifo.has_synced());
}

#[test]
fn the_queue_is_full_at_its_bound_and_not_below() {
    let (bound, first) = (RealFifo::<u32>::BOUND, RealFifo::<u32>::FIRST_LIST_BATCH);
    for (mut fifo, bound) in [(synced(), bound), (RealFifo::new(), first)] {
        assert!(fifo.is_empty());
        fifo.push_page(page(vec![0; bound - 1]));
        assert_eq!(fifo.len(), bound - 1);
        assert!(!fifo.is_full() && !fifo.is_empty());
        fifo.push(Delta::Set(Entry::from(1)));
        assert!(fifo.is_full());
        fifo.pop();
        assert!(!fifo.is_full());
    }
}

#[test]
fn the_first_list_is_gathered_until_it_ends_or_the_producer_must_wait() {
    let most = RealFifo::<u32>::FIRST_LIST_BATCH;
    let mut fifo = RealFifo::new();
    assert!(!fifo.is_gathering());
    fifo.push(Delta::ListStarted);
    for number in 0..most as u32 - 1 {
        assert!(fifo.is_gathering());
        fifo.push(Delta::Set(Entry::from(number)));
    }
    assert!(!fifo.is_gathering(), "the queue is full");
    assert_eq!(fifo.pop().unwrap().deltas.len(), most);
    fifo.push(Delta::Set(Entry::from(0)));
    assert!(fifo.is_gathering());
    fifo.push(ended());
    assert!(!fifo.is_gathering(), "the list has ended");
    drain(&mut fifo);
    fifo.push(Delta::ListStarted);
    fifo.push(Delta::Set(Entry::from(0)));
    assert!(!fifo.is_gathering(), "the cache is in use");
}

#[test]
fn the_memory_of_a_burst_is_given_back_and_that_of_daily_use_is_kept() {
    let bound = RealFifo::<u32>::BOUND;
    for (count, is_kept) in [(bound, true), (3 * bound, false)] {
        let mut fifo = RealFifo::<u32>::new();
        for _ in 0..count {
            fifo.push(Delta::Set(Entry::from(1)));
        }
        let mut taken = 0;
        while let Some(batch) = fifo.pop() {
            taken += batch.deltas.len();
        }
        assert_eq!((taken, fifo.room() >= bound), (count, is_kept));
    }
}

proptest! {
    #[test]
    fn deltas_leave_in_the_order_of_their_arrival_in_bounded_batches(
        steps in prop::collection::vec((0..4u8, 0..2500usize), 0..20)
    ) {
        let (mut fifo, mut sent, mut received) = (RealFifo::new(), Vec::new(), Vec::new());
        let mut next = 0u32;
        let mut take = |fifo: &mut RealFifo<u32>| -> Result<bool, TestCaseError> {
            let Some(batch) = fifo.pop() else { return Ok(false) };
            fifo.finish();
            let most = match batch.initial {
                true => RealFifo::<u32>::FIRST_LIST_BATCH,
                false => RealFifo::<u32>::BATCH,
            };
            prop_assert!(!batch.deltas.is_empty() && batch.deltas.len() <= most);
            received.extend(batch.deltas.iter().filter_map(|delta| match delta {
                Delta::Set(number) => number.stored_object().map(|number| **number),
                _ => None,
            }));
            Ok(true)
        };
        for (step, count) in steps {
            match step {
                0 => {
                    sent.push(next);
                    fifo.push(Delta::Set(Entry::from(next)));
                    next += 1;
                }
                1 => {
                    let numbers: Vec<u32> = (next..).take(count).collect();
                    next += count as u32;
                    sent.extend(&numbers);
                    fifo.push_page(page(numbers));
                }
                2 => fifo.push(ended()),
                _ => {
                    take(&mut fifo)?;
                }
            }
        }
        while take(&mut fifo)? {}
        prop_assert!(fifo.is_empty());
        prop_assert_eq!(received, sent);
    }
}

mod bytes {
    //! Objects that are not decoded.

    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::super::{Delta, Entry, RealFifo};
    use crate::{
        cache::{Packed, fake::undecodable},
        client::ObjectList,
        resource::{ObjectKey, Undecodable},
    };

    /// An object of this size. The tests need only its key.
    struct OfSize(usize);

    impl Packed<ConfigMap> for OfSize {
        fn uid(&self) -> Option<&str> {
            None
        }

        fn resource_version(&self) -> Option<&str> {
            None
        }

        fn object(&self) -> Result<Arc<ConfigMap>, Arc<Undecodable>> {
            Err(Arc::new(undecodable("default", "a", "u", 1)))
        }

        fn key(&self) -> Option<std::borrow::Cow<'_, ObjectKey>> {
            Some(std::borrow::Cow::Owned(ObjectKey::namespaced(
                "default", "a",
            )))
        }

        fn size(&self) -> Option<usize> {
            Some(self.0)
        }
    }

    fn objects(sizes: &[usize]) -> Vec<Entry<ConfigMap>> {
        let sizes = sizes.iter();
        sizes
            .map(|size| Entry::packed(Arc::new(OfSize(*size))))
            .collect()
    }

    fn taken(fifo: &mut RealFifo<ConfigMap>) -> Option<usize> {
        let batch = fifo.pop()?;
        fifo.finish();
        Some(batch.deltas.len())
    }

    #[test]
    fn few_bytes_wait_and_few_are_taken_out_at_once() {
        const HALF: usize = RealFifo::<ConfigMap>::BATCH_BYTES / 2;
        let sizes = [HALF, HALF, 5 * HALF, 1, 1];
        for is_by_key in [false, true] {
            // The deltas of one object stay together.
            let expected: &[usize] = if is_by_key { &[5] } else { &[2, 1, 2] };
            for is_page in [false, true] {
                let mut fifo = match is_by_key {
                    true => RealFifo::by_key(),
                    false => RealFifo::new(),
                };
                if is_page {
                    fifo.push_page(ObjectList {
                        items: objects(&sizes),
                        ..ObjectList::default()
                    });
                } else {
                    for object in objects(&sizes[..3]) {
                        assert!(!fifo.is_full());
                        fifo.push(Delta::Set(object));
                    }
                    for object in objects(&sizes[3..]) {
                        assert!(fifo.is_full());
                        fifo.push(Delta::Set(object));
                    }
                }
                assert!(fifo.is_full());
                let taken: Vec<_> = std::iter::from_fn(|| taken(&mut fifo)).collect();
                assert_eq!(taken, expected);
                assert!(!fifo.is_full());
            }
        }
    }
}

mod by_key {
    //! The queue gathers the deltas of each object.

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::super::{Batch, Delta, Entry, RealFifo};
    use crate::cache::{
        Store,
        fake::{object, undecodable},
        informer::Processor,
    };

    fn set(name: &str, version: u64) -> Delta<ConfigMap> {
        Delta::Set(object("default", name, "u", version, &[]).into())
    }

    fn deleted(name: &str, version: u64) -> Delta<ConfigMap> {
        Delta::Deleted(object("default", name, "u", version, &[]).into())
    }

    fn list_ended(version: &str) -> Delta<ConfigMap> {
        Delta::ListEnded {
            resource_version: version.into(),
        }
    }

    fn fifo(deltas: impl IntoIterator<Item = Delta<ConfigMap>>) -> RealFifo<ConfigMap> {
        let mut fifo = RealFifo::by_key();
        deltas.into_iter().for_each(|delta| fifo.push(delta));
        fifo
    }

    fn shown(batch: &Batch<ConfigMap>) -> Vec<String> {
        let name = |object: &Entry<ConfigMap>| object.key().name().to_owned();
        let line = |delta: &Delta<ConfigMap>| {
            let version = delta.resource_version().unwrap_or_default();
            match delta {
                Delta::Set(object) => format!("{} {version}", name(object)),
                Delta::Deleted(object) => format!("-{} {version}", name(object)),
                Delta::SetUndecodable(object) => format!("!{} {version}", object.key.name()),
                Delta::DeletedUndecodable(object) => format!("-!{} {version}", object.key.name()),
                Delta::ListStarted => "list".to_owned(),
                Delta::ListEnded { .. } => format!("listed {version}"),
                Delta::Bookmark { .. } => format!("at {version}"),
                Delta::Restored => "restored".to_owned(),
            }
        };
        batch.deltas.iter().map(line).collect()
    }

    #[test]
    fn the_deltas_of_an_object_leave_together_and_the_version_of_the_collection_follows_them() {
        let mut fifo = fifo([Delta::ListStarted, list_ended("1")]);
        assert_eq!(shown(&fifo.pop().unwrap()), ["list", "listed 1"]);
        fifo.finish();
        let bad = |version| undecodable("default", "b", "u", version);
        let changes = [
            set("a", 2),
            set("b", 3),
            set("a", 4),
            Delta::DeletedUndecodable(Box::new(bad(5))),
            Delta::SetUndecodable(Box::new(bad(6))),
            deleted("a", 7),
            deleted("a", 8),
        ];
        changes.into_iter().for_each(|delta| fifo.push(delta));
        assert_eq!(fifo.len(), 6, "two deletions are one");
        let batch = fifo.pop().unwrap();
        assert!(batch.gathered && !batch.listed);
        assert_eq!(
            shown(&batch),
            ["a 2", "a 4", "-a 8", "b 3", "-!b 5", "!b 6", "at 8"]
        );
        assert!(fifo.is_empty() && fifo.pop().is_none());
    }

    #[test]
    fn no_delta_passes_the_begin_or_the_end_of_a_list() {
        let mut fifo = fifo([
            Delta::ListStarted,
            set("a", 2),
            set("b", 3),
            set("a", 4),
            list_ended("4"),
            set("a", 5),
            Delta::ListStarted,
            set("a", 6),
            list_ended("6"),
            set("a", 7),
        ]);
        let mut batches = Vec::new();
        while let Some(batch) = fifo.pop() {
            fifo.finish();
            batches.push((shown(&batch).join(", "), batch.listed));
        }
        let expected = [
            ("list, a 2, a 4, b 3, listed 4", true),
            ("a 5, at 5", false),
            ("list, a 6, listed 6", true),
            ("a 7, at 7", false),
        ];
        assert_eq!(
            batches,
            expected.map(|(line, listed)| (line.to_owned(), listed))
        );
        assert!(fifo.has_synced());
    }

    #[test]
    fn an_object_with_many_deltas_leaves_as_a_whole_and_ends_the_batch() {
        let count = RealFifo::<ConfigMap>::FIRST_LIST_BATCH as u64;
        let mut fifo = fifo((1..=count + 5).map(|version| set("a", version)));
        fifo.push(set("b", 900));
        assert_eq!(fifo.pop().unwrap().deltas.len() as u64, count + 5);
        assert_eq!(shown(&fifo.pop().unwrap()), ["b 900", "at 900"]);
        assert_eq!(fifo.len(), 0);
    }

    #[test]
    fn the_version_of_the_collection_waits_for_all_deltas_before_it() {
        let mut processor = Processor::new(Store::new(), None);
        processor.add(0, None);
        let mut fifo = fifo([Delta::ListStarted, list_ended("1")]);
        let mut next = |fifo: &mut RealFifo<ConfigMap>| {
            processor.process(0, fifo.pop().unwrap());
            fifo.finish();
            let present = processor.store().working();
            (
                present.len(),
                present.resource_version().unwrap().to_owned(),
            )
        };
        assert_eq!(next(&mut fifo), (0, "1".into()));
        let last = RealFifo::<ConfigMap>::BATCH as u64 + 5;
        fifo.push(set("a", 2));
        fifo.push(set("b", 3));
        (4..=last).for_each(|version| fifo.push(set("a", version)));
        // Only `a` was processed, and `b` has an older version.
        assert_eq!(next(&mut fifo), (1, "1".into()));
        assert_eq!(next(&mut fifo), (2, last.to_string()));
    }
}
