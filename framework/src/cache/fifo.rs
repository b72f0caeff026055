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
    /// What was taken out last is within a list.
    listing: bool,
}

enum Slot<K> {
    One(Delta<K>),
    Page(std::vec::IntoIter<Arc<K>>),
}

/// Deltas to be applied to the store at once.
pub struct Batch<K> {
    /// The deltas, oldest first.
    pub deltas: Vec<Delta<K>>,
    /// Whether they belong to the first list.
    pub initial: bool,
    /// Whether they belong to a list, the first or a later one, and not to a watch.
    pub listed: bool,
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
    pub const BATCH: usize = 128;
    /// From so many deltas on the producer has to wait.
    pub const BOUND: usize = 2 * Self::BATCH;

    /// An empty queue, before the first list.
    pub fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            pending: 0,
            initial: Initial::Pending,
            listing: false,
        }
    }

    /// Appends one delta.
    pub fn push(&mut self, delta: Delta<K>) {
        self.pending += 1;
        self.queue.push_back(Slot::One(delta));
    }

    /// Appends a page of a list, as so many [`Delta::Set`]s.
    pub fn push_page(&mut self, page: ObjectList<Arc<K>>) {
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
    /// A batch begins and ends where a list does, so that all of a batch is of one list or none is.
    /// [`finish`](Self::finish) must be called when the batch has been worked on, before the next.
    pub fn pop(&mut self) -> Option<Batch<K>> {
        if self.pending == 0 {
            return None;
        }
        let initial = self.initial == Initial::Pending;
        let mut listed = initial || self.listing;
        let mut deltas = Vec::with_capacity(self.pending.min(Self::BATCH));
        while deltas.len() < Self::BATCH {
            match self.queue.pop_front() {
                None => break,
                Some(Slot::One(Delta::ListStarted)) if !listed && !deltas.is_empty() => {
                    self.queue.push_front(Slot::One(Delta::ListStarted));
                    break;
                }
                Some(Slot::One(Delta::ListStarted)) => {
                    (listed, self.listing) = (true, true);
                    deltas.push(Delta::ListStarted);
                }
                Some(Slot::One(delta)) => {
                    let ends = listed && matches!(delta, Delta::ListEnded { .. });
                    deltas.push(delta);
                    if ends {
                        self.listing = false;
                        if initial {
                            self.initial = Initial::InProcess;
                        }
                        break;
                    }
                }
                Some(Slot::Page(mut page)) => {
                    let room = Self::BATCH - deltas.len();
                    deltas.extend(page.by_ref().take(room).map(Delta::Set));
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
        Some(Batch {
            deltas,
            initial,
            listed,
        })
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
