use std::{collections::VecDeque, sync::Arc};

use super::Delta;
use crate::client::ObjectList;

/// What lies between the reflector and the store: deltas in the order of their arrival.
///
/// Nothing is merged and nothing overtakes. A list of the whole collection travels as its pages
/// between [`Delta::ListStarted`] and [`Delta::ListEnded`]; a page is kept as it came and taken apart
/// on the way out. It is bounded: the producer asks [`is_full`](Self::is_full) first, so that
/// never more than [`BOUND`](Self::BOUND) deltas and one page are kept.
///
/// It is a state machine without threads, tasks or time; [`DeltaQueue`](super::DeltaQueue) makes
/// it wait. As client-go's RealFIFO.
pub struct DeltaFifo<K> {
    queue: VecDeque<Slot<K>>,
    pending: usize,
    initial: Initial,
}

enum Slot<K> {
    One(Delta<K>),
    Page(std::vec::IntoIter<K>),
}

/// Deltas to be applied to the store at once.
pub struct Batch<K> {
    /// The deltas, oldest first.
    pub deltas: Vec<Delta<K>>,
    /// Whether they belong to the first list.
    pub initial: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Initial {
    /// The end of the first list has not been taken out yet.
    Pending,
    /// It has been taken out and is being worked on.
    InProcess,
    Done,
}

impl<K> DeltaFifo<K> {
    /// So many deltas are taken out at once, at most.
    pub const BATCH: usize = 1000;
    /// From so many deltas on the producer has to wait.
    pub const BOUND: usize = 2 * Self::BATCH;

    /// An empty queue, before the first list.
    pub fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            pending: 0,
            initial: Initial::Pending,
        }
    }

    /// Appends one delta.
    pub fn push(&mut self, delta: Delta<K>) {
        self.pending += 1;
        self.queue.push_back(Slot::One(delta));
    }

    /// Appends a page of a list, as so many [`Delta::Set`]s.
    pub fn push_page(&mut self, page: ObjectList<K>) {
        for undecodable in page.undecodable {
            self.push(Delta::SetUndecodable(Box::new(undecodable)));
        }
        if !page.items.is_empty() {
            self.pending += page.items.len();
            self.queue.push_back(Slot::Page(page.items.into_iter()));
        }
    }

    /// Takes out the oldest deltas, at most [`BATCH`](Self::BATCH); `None` if there are none.
    ///
    /// A batch ends with the end of the first list, so that all of a batch is initial or none.
    /// [`finish`](Self::finish) must be called when the batch has been worked on, before the next.
    pub fn pop(&mut self) -> Option<Batch<K>> {
        if self.pending == 0 {
            return None;
        }
        let initial = self.initial == Initial::Pending;
        let mut deltas = Vec::with_capacity(self.pending.min(Self::BATCH));
        while deltas.len() < Self::BATCH {
            match self.queue.pop_front() {
                None => break,
                Some(Slot::One(delta)) => {
                    let ends_initial = initial && matches!(delta, Delta::ListEnded { .. });
                    deltas.push(delta);
                    if ends_initial {
                        self.initial = Initial::InProcess;
                        break;
                    }
                }
                Some(Slot::Page(mut page)) => {
                    let room = Self::BATCH - deltas.len();
                    let objects = page.by_ref().take(room).map(Arc::new);
                    deltas.extend(objects.map(Delta::Set));
                    if page.len() > 0 {
                        self.queue.push_front(Slot::Page(page));
                    }
                }
            }
        }
        self.pending -= deltas.len();
        if self.queue.is_empty() && self.queue.capacity() > Self::BOUND {
            self.queue = VecDeque::new();
        }
        Some(Batch { deltas, initial })
    }

    /// The batch taken out last has reached the store and the listeners.
    pub fn finish(&mut self) {
        if self.initial == Initial::InProcess {
            self.initial = Initial::Done;
        }
    }

    /// Whether the first list was taken out and worked on to its end. It stays so.
    pub fn has_synced(&self) -> bool {
        self.initial == Initial::Done
    }

    /// Whether the producer has to wait.
    pub fn is_full(&self) -> bool {
        self.pending >= Self::BOUND
    }

    /// How many deltas are waiting.
    pub fn len(&self) -> usize {
        self.pending
    }

    /// Whether none is waiting.
    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }
}

impl<K> Default for DeltaFifo<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(items: Vec<u32>) -> ObjectList<u32> {
        ObjectList {
            items,
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
    fn it_is_synced_only_when_the_first_list_has_been_worked_on() {
        let mut fifo = DeltaFifo::new();
        fifo.push(Delta::ListStarted);
        fifo.push_page(page(vec![1, 2]));
        fifo.push(ended());
        fifo.push(Delta::Set(Arc::new(3)));
        assert!(!fifo.has_synced());
        let first = fifo.pop().unwrap();
        assert_eq!((first.deltas.len(), first.initial), (4, true));
        assert!(!fifo.has_synced(), "popped, not worked on");
        fifo.finish();
        assert!(fifo.has_synced());
        assert!(!fifo.pop().unwrap().initial);
    }

    #[test]
    fn an_empty_first_list_syncs_too() {
        let mut fifo = DeltaFifo::new();
        fifo.push(Delta::ListStarted);
        fifo.push(ended());
        drain(&mut fifo);
        assert!(fifo.has_synced());
    }

    #[test]
    fn a_list_that_never_ended_does_not_sync() {
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
    fn it_is_full_at_its_bound_and_not_below() {
        let mut fifo = DeltaFifo::new();
        fifo.push_page(page(vec![0; DeltaFifo::<u32>::BOUND - 1]));
        assert!(!fifo.is_full());
        fifo.push(Delta::Set(Arc::new(1)));
        assert!(fifo.is_full());
        fifo.pop();
        assert!(!fifo.is_full());
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
}
