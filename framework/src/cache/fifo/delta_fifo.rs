use std::{collections::VecDeque, sync::Arc};

use super::Delta;
use crate::client::ObjectList;

/// The deltas between a reflector and its store, in the order of their arrival. Like client-go's `RealFIFO`.
///
/// It merges nothing and reorders nothing. A list of the whole collection passes as its pages between
/// [`Delta::ListStarted`] and [`Delta::ListEnded`]. A page is kept as it arrived and is split when it is taken out.
/// The queue is bounded: the producer checks [`is_full`](Self::is_full) first, so that the queue never holds more
/// than [`BOUND`](Self::BOUND) deltas and one page.
///
/// It is a state machine without threads, tasks or time; [`DeltaQueue`](super::DeltaQueue) adds the waiting.
pub struct DeltaFifo<K> {
    queue: VecDeque<QueueItem<K>>,
    pending: usize,
    initial: Initial,
    /// The delta that was taken out last belongs to a list that has not ended.
    listing: bool,
}

enum QueueItem<K> {
    One(Delta<K>),
    Page(std::vec::IntoIter<Arc<K>>),
}

/// Deltas that the store applies at once.
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
    /// The end of the first list has not been taken out.
    Pending,
    /// The end of the first list has been taken out, and its batch is being processed.
    InProcess,
    Done,
}

impl<K> DeltaFifo<K> {
    /// The maximum number of deltas that are taken out at once.
    pub const BATCH: usize = 128;
    /// The producer must wait while the queue holds this many deltas or more.
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
        self.queue.push_back(QueueItem::One(delta));
    }

    /// Appends a page of a list, as one [`Delta::Set`] for each object.
    pub fn push_page(&mut self, page: ObjectList<Arc<K>>) {
        for undecodable in page.undecodable {
            self.push(Delta::SetUndecodable(Box::new(undecodable)));
        }
        if !page.items.is_empty() {
            self.pending += page.items.len();
            self.queue
                .push_back(QueueItem::Page(page.items.into_iter()));
        }
    }

    /// Takes out the oldest deltas, at most [`BATCH`](Self::BATCH). Returns `None` if the queue is empty.
    ///
    /// A batch begins and ends where a list does, so that either all deltas of a batch belong to one list or none
    /// belongs to a list. When the batch has been processed, the caller must call [`finish`](Self::finish) before it
    /// takes the next one.
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
                Some(QueueItem::One(Delta::ListStarted)) if !listed && !deltas.is_empty() => {
                    self.queue.push_front(QueueItem::One(Delta::ListStarted));
                    break;
                }
                Some(QueueItem::One(Delta::ListStarted)) => {
                    (listed, self.listing) = (true, true);
                    deltas.push(Delta::ListStarted);
                }
                Some(QueueItem::One(delta)) => {
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
                Some(QueueItem::Page(mut page)) => {
                    let room = Self::BATCH - deltas.len();
                    deltas.extend(page.by_ref().take(room).map(Delta::Set));
                    if page.len() > 0 {
                        self.queue.push_front(QueueItem::Page(page));
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

    /// Reports that the batch taken out last has reached the store and the listeners.
    pub fn finish(&mut self) {
        if self.initial == Initial::InProcess {
            self.initial = Initial::Done;
        }
    }

    /// Whether the first list has been taken out and processed to its end. Once `true`, it stays `true`.
    pub fn has_synced(&self) -> bool {
        self.initial == Initial::Done
    }

    /// Whether the producer must wait.
    pub fn is_full(&self) -> bool {
        self.pending >= Self::BOUND
    }

    /// The number of deltas in the queue.
    pub fn len(&self) -> usize {
        self.pending
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// For how many deltas there is memory.
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.queue.capacity()
    }
}

impl<K> Default for DeltaFifo<K> {
    fn default() -> Self {
        Self::new()
    }
}
