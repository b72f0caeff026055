use std::collections::VecDeque;

use super::{Delta, DeltaFifo, DeltaKind, Entry, ObjectDelta};
use crate::{
    client::ObjectList,
    resource::{Object, ObjectKey},
};

/// The deltas between a reflector and its store, in the order of their arrival. Like client-go's `RealFIFO`.
///
/// It merges nothing and reorders nothing, unless it gathers [by key](Self::by_key). A list of the whole collection passes as its pages between
/// [`Delta::ListStarted`] and [`Delta::ListEnded`]. A page is kept as it arrived and is split when it is taken out.
/// The queue is bounded: the producer checks [`is_full`](Self::is_full) first, so that the queue never holds more
/// than [`BOUND`](Self::BOUND) deltas and one page, and no more than [`BOUND_BYTES`](Self::BOUND_BYTES) of objects that
/// are not decoded, and one page. The first list may take as many as [`FIRST_LIST_BATCH`](Self::FIRST_LIST_BATCH).
///
/// It is a state machine without threads, tasks or time; [`DeltaQueue`](super::DeltaQueue) adds the waiting.
pub struct RealFifo<K> {
    queue: VecDeque<QueueItem<K>>,
    pending: usize,
    /// The bytes of the pending objects that are not decoded. It may be too large while deltas are gathered by key.
    pending_bytes: usize,
    initial: Initial,
    /// The delta that was taken out last belongs to a list that has not ended.
    listing: bool,
    /// Describes the deltas of objects. `None` if the queue does not gather.
    describe: Option<Describe<K>>,
    /// The delta that was appended last belongs to a list that has not ended.
    appending_list: bool,
}

enum QueueItem<K> {
    One(Delta<K>),
    Page(std::vec::IntoIter<Entry<K>>),
    Gathered(GatheredDeltas<K>),
}

/// What happened to objects between two marks of the queue, by object.
struct GatheredDeltas<K> {
    objects: DeltaFifo<Delta<K>>,
    /// The resource version of the delta that was appended last. The collection has this version when all of these
    /// deltas have been taken out, and not before. `None` within a list.
    newest: Option<String>,
}

/// Returns key and resource version of a delta, and whether its final state is known. `None` for a mark.
type Describe<K> = fn(&Delta<K>) -> Option<DescribedDelta>;

struct DescribedDelta {
    key: ObjectKey,
    resource_version: Option<String>,
    is_deletion: bool,
    is_decoded: bool,
}

/// Deltas that the store applies at once.
pub struct Batch<K> {
    /// The deltas, oldest first.
    pub deltas: Vec<Delta<K>>,
    /// Whether they belong to the first list.
    pub initial: bool,
    /// Whether they belong to a list, the first or a later one, and not to a watch.
    pub listed: bool,
    /// Whether the deltas are gathered by object, so that their resource versions are in no order.
    pub gathered: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Initial {
    /// The end of the first list has not been taken out.
    Pending,
    /// The end of the first list has been taken out, and its batch is being processed.
    InProcess,
    Done,
}

impl<K> RealFifo<K> {
    /// The maximum number of deltas that are taken out at once after the first list. Readers see a batch at once, and each
    /// batch costs the store a copy of what it changes, so larger batches cost less for each delta.
    pub const BATCH: usize = 512;
    /// The producer must wait while the queue holds this many deltas or more.
    pub const BOUND: usize = 2 * Self::BATCH;
    /// [`BATCH`](Self::BATCH) and [`BOUND`](Self::BOUND) of the first list.
    pub const FIRST_LIST_BATCH: usize = 2048;
    /// A batch ends after this many bytes of objects that are not decoded.
    pub const BATCH_BYTES: usize = 4 * 1024 * 1024;
    /// The producer must wait while the queue holds this many bytes of them, or more.
    pub const BOUND_BYTES: usize = 2 * Self::BATCH_BYTES;

    /// An empty queue, before the first list.
    pub fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            pending: 0,
            pending_bytes: 0,
            initial: Initial::Pending,
            listing: false,
            describe: None,
            appending_list: false,
        }
    }

    /// An empty queue that gathers the deltas of each object, as [`DeltaFifo`] does. Deltas do not pass the begin or the
    /// end of a list, or a bookmark. When all deltas between two of these marks have been taken out, a
    /// [`Delta::Bookmark`] follows with the version that the collection then has.
    pub fn by_key() -> Self
    where
        K: Object,
    {
        Self {
            describe: Some(describe),
            ..Self::new()
        }
    }

    /// Appends one delta.
    pub fn push(&mut self, delta: Delta<K>) {
        self.pending_bytes += bytes_of(&delta);
        let described = self.describe.and_then(|describe| describe(&delta));
        if let Some(described) = described {
            return self.gather(described, delta);
        }
        match delta {
            Delta::ListStarted => self.appending_list = true,
            Delta::ListEnded { .. } => self.appending_list = false,
            _ => {}
        }
        self.pending += 1;
        self.queue.push_back(QueueItem::One(delta));
    }

    fn gather(&mut self, described: DescribedDelta, delta: Delta<K>) {
        if !matches!(self.queue.back(), Some(QueueItem::Gathered(_))) {
            self.queue.push_back(QueueItem::Gathered(GatheredDeltas {
                objects: DeltaFifo::new(),
                newest: None,
            }));
        }
        let Some(QueueItem::Gathered(gathered)) = self.queue.back_mut() else {
            return;
        };
        let before = gathered.objects.deltas();
        let kind = match (described.is_deletion, self.appending_list) {
            (true, _) => DeltaKind::Deleted,
            (false, true) => DeltaKind::Replaced,
            (false, false) => DeltaKind::Updated,
        };
        let delta = ObjectDelta {
            kind,
            object: Some(delta),
            is_tombstone: !described.is_decoded,
        };
        gathered.objects.push(described.key, delta);
        if !self.appending_list {
            gathered.newest = described.resource_version.or(gathered.newest.take());
        }
        self.pending += gathered.objects.deltas() - before;
    }

    /// Appends a page of a list, as one [`Delta::Set`] for each object.
    pub fn push_page(&mut self, page: ObjectList<Entry<K>>) {
        for undecodable in page.undecodable {
            self.push(Delta::SetUndecodable(Box::new(undecodable)));
        }
        if self.describe.is_some() {
            page.items
                .into_iter()
                .for_each(|object| self.push(Delta::Set(object)));
        } else if !page.items.is_empty() {
            self.pending += page.items.len();
            self.pending_bytes += page
                .items
                .iter()
                .filter_map(Entry::packed_size)
                .sum::<usize>();
            self.queue
                .push_back(QueueItem::Page(page.items.into_iter()));
        }
    }

    /// Takes out the oldest deltas, at most [`BATCH`](Self::BATCH), and in the first list at most
    /// [`FIRST_LIST_BATCH`](Self::FIRST_LIST_BATCH). Returns `None` if the queue is empty. A queue that gathers by key may return
    /// more, because the deltas of one object stay together.
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
        let most = if initial {
            Self::FIRST_LIST_BATCH
        } else {
            Self::BATCH
        };
        let mut deltas = Vec::with_capacity(self.pending.min(most));
        let mut bytes = 0;
        while deltas.len() < most && bytes < Self::BATCH_BYTES {
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
                    bytes += bytes_of(&delta);
                    deltas.push(delta);
                    if ends {
                        self.listing = false;
                        if initial {
                            self.initial = Initial::InProcess;
                        }
                        break;
                    }
                }
                Some(QueueItem::Gathered(mut gathered)) => {
                    let taken = gathered.objects.pop();
                    let taken = taken.into_iter().flat_map(|object| object.deltas);
                    let taken = taken.filter_map(|delta| delta.object);
                    deltas.extend(taken.inspect(|delta| bytes += bytes_of(delta)));
                    if !gathered.objects.is_empty() {
                        self.queue.push_front(QueueItem::Gathered(gathered));
                    } else if let Some(resource_version) = gathered.newest {
                        self.pending += 1;
                        let mark = Delta::Bookmark { resource_version };
                        self.queue.push_front(QueueItem::One(mark));
                    }
                }
                Some(QueueItem::Page(mut page)) => {
                    while deltas.len() < most
                        && bytes < Self::BATCH_BYTES
                        && let Some(object) = page.next()
                    {
                        bytes += object.packed_size().unwrap_or_default();
                        deltas.push(Delta::Set(object));
                    }
                    if page.len() > 0 {
                        self.queue.push_front(QueueItem::Page(page));
                    }
                }
            }
        }
        self.pending -= deltas.len();
        self.pending_bytes = match self.pending {
            0 => 0,
            _ => self.pending_bytes.saturating_sub(bytes),
        };
        if self.queue.is_empty() && self.queue.capacity() > Self::BOUND {
            self.queue = VecDeque::new();
        }
        Some(Batch {
            deltas,
            initial,
            listed,
            gathered: self.describe.is_some(),
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
        let bound = match self.initial {
            Initial::Pending => Self::FIRST_LIST_BATCH,
            Initial::InProcess | Initial::Done => Self::BOUND,
        };
        self.pending >= bound || self.pending_bytes >= Self::BOUND_BYTES
    }

    /// Whether the consumer should wait for more: the queue has a part of the first list, and the producer need not wait.
    /// Nobody may rely on a cache before its first list is complete, so nobody misses that part meanwhile.
    pub fn is_gathering(&self) -> bool {
        self.initial == Initial::Pending && self.appending_list && !self.is_full()
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

/// The bytes of the object, if it is not decoded.
fn bytes_of<K>(delta: &Delta<K>) -> usize {
    match delta {
        Delta::Set(object) | Delta::Deleted(object) => object.packed_size().unwrap_or_default(),
        _ => 0,
    }
}

fn describe<K: Object>(delta: &Delta<K>) -> Option<DescribedDelta> {
    let (key, is_deletion, is_decoded) = match delta {
        Delta::Set(object) => (object.key(), false, true),
        Delta::Deleted(object) => (object.key(), true, true),
        Delta::SetUndecodable(object) => (object.key.clone(), false, false),
        Delta::DeletedUndecodable(object) => (object.key.clone(), true, false),
        Delta::Restored | Delta::ListStarted | Delta::ListEnded { .. } | Delta::Bookmark { .. } => {
            return None;
        }
    };
    Some(DescribedDelta {
        key,
        resource_version: delta.resource_version().map(str::to_owned),
        is_deletion,
        is_decoded,
    })
}

impl<K> Default for RealFifo<K> {
    fn default() -> Self {
        Self::new()
    }
}
