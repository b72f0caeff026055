//! What the FIFO guarantees.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Delta, DeltaFifo};
use crate::client::ObjectList;

fn page(items: Vec<u32>) -> ObjectList<Arc<u32>> {
    ObjectList {
        items: items.into_iter().map(Arc::new).collect(),
        ..ObjectList::default()
    }
}

fn ended() -> Delta<u32> {
    Delta::ListEnded {
        resource_version: "1".into(),
    }
}

fn drain(fifo: &mut DeltaFifo<u32>) {
    while fifo.pop().is_some() {
        fifo.finish();
    }
}

#[test]
fn the_queue_has_synced_only_when_the_first_list_was_processed() {
    let mut fifo = DeltaFifo::new();
    fifo.push(Delta::ListStarted);
    fifo.push_page(page(vec![1, 2]));
    fifo.push(ended());
    fifo.push(Delta::Set(Arc::new(3)));
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
    let mut fifo = DeltaFifo::new();
    let set = |number| Delta::Set(Arc::new(number));
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
    let mut fifo = DeltaFifo::new();
    fifo.push(Delta::ListStarted);
    fifo.push(ended());
    drain(&mut fifo);
    assert!(fifo.has_synced());
    fifo.push(Delta::ListStarted);
    fifo.push_page(page(vec![0; DeltaFifo::<u32>::BATCH]));
    assert!(fifo.pop().unwrap().listed && fifo.pop().unwrap().listed);
    fifo.push(ended());
    assert!(fifo.pop().unwrap().listed);
    fifo.push(Delta::Set(Arc::new(1)));
    assert!(!fifo.pop().unwrap().listed);
}

#[test]
fn an_empty_first_list_syncs_the_queue() {
    let mut fifo = DeltaFifo::new();
    fifo.push(Delta::ListStarted);
    fifo.push(ended());
    drain(&mut fifo);
    assert!(fifo.has_synced());
}

#[test]
fn a_list_that_never_ended_does_not_sync_the_queue() {
    let mut fifo = DeltaFifo::new();
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
    let mut fifo = DeltaFifo::new();
    assert!(fifo.is_empty());
    fifo.push_page(page(vec![0; DeltaFifo::<u32>::BOUND - 1]));
    assert_eq!(fifo.len(), DeltaFifo::<u32>::BOUND - 1);
    assert!(!fifo.is_full() && !fifo.is_empty());
    fifo.push(Delta::Set(Arc::new(1)));
    assert!(fifo.is_full());
    fifo.pop();
    assert!(!fifo.is_full());
}

#[test]
fn the_memory_of_a_burst_is_given_back_and_that_of_daily_use_is_kept() {
    let bound = DeltaFifo::<u32>::BOUND;
    for (count, is_kept) in [(bound, true), (3 * bound, false)] {
        let mut fifo = DeltaFifo::new();
        for _ in 0..count {
            fifo.push(Delta::Set(Arc::new(1)));
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
        let (mut fifo, mut sent, mut received) = (DeltaFifo::new(), Vec::new(), Vec::new());
        let mut next = 0u32;
        let mut take = |fifo: &mut DeltaFifo<u32>| -> Result<bool, TestCaseError> {
            let Some(batch) = fifo.pop() else { return Ok(false) };
            fifo.finish();
            prop_assert!(!batch.deltas.is_empty() && batch.deltas.len() <= DeltaFifo::<u32>::BATCH);
            received.extend(batch.deltas.iter().filter_map(|delta| match delta {
                Delta::Set(number) => Some(**number),
                _ => None,
            }));
            Ok(true)
        };
        for (step, count) in steps {
            match step {
                0 => {
                    sent.push(next);
                    fifo.push(Delta::Set(Arc::new(next)));
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
