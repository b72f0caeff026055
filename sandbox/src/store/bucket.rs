use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

use super::{Compacted, Encoded, Key};

/// The most bytes of states that only the history of one kind holds.
const HISTORY_BYTES: usize = 64 * 1024 * 1024;

/// One of all buckets of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketId(u64);

impl BucketId {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The objects of one kind in a snapshot.
pub(super) struct SavedBucket {
    id: BucketId,
    pub(super) objects: Objects,
}

/// The states of the objects of one kind, in key order.
pub(crate) type Objects = BTreeMap<Key, Arc<Encoded>>;

/// The objects of one kind and the changes that led to them.
pub(super) struct Bucket {
    /// Tells the buckets apart that a kind had one after the other.
    pub(super) id: BucketId,
    pub(super) objects: Objects,
    history: VecDeque<Arc<Change>>,
    /// The size of the states that are in the history and no longer in `objects`.
    history_bytes: usize,
    /// Changes up to and including this resource version are compacted.
    compacted: u64,
    /// Notified of every change. Dropping it ends every watch.
    pub(super) changed: watch::Sender<LastChanges>,
}

/// The last changes of a kind that is no longer served, for its readers; `None` while it is served.
pub(super) type LastChanges = Option<Arc<VecDeque<Arc<Change>>>>;

impl Bucket {
    /// A bucket with these objects. The history up to `version` is compacted.
    pub(super) fn with(objects: Objects, version: u64) -> Self {
        Self {
            id: BucketId::new(),
            compacted: version,
            objects,
            history: VecDeque::new(),
            history_bytes: 0,
            changed: watch::Sender::new(None),
        }
    }

    pub(super) fn record(&mut self, change: Change, limit: usize) {
        self.history_bytes += change.bytes();
        self.history.push_back(Arc::new(change));
        while (self.history.len() > limit || self.history_bytes > HISTORY_BYTES)
            && let Some(oldest) = self.history.pop_front()
        {
            self.history_bytes -= oldest.bytes();
            self.compacted = oldest.version;
        }
        self.changed.send_modify(|_| {});
    }

    pub(super) fn compact(&mut self, version: u64) {
        self.history.clear();
        self.history_bytes = 0;
        self.compacted = version;
        // Readers that are behind learn of it now and not at the next change.
        self.changed.send_modify(|_| {});
    }

    /// Replaces the objects by those of `saved`. To readers this is a compaction at `version`: a watch gets an error, and a list of
    /// an older state too.
    pub(super) fn restore(&mut self, saved: &SavedBucket, version: u64) {
        self.id = saved.id;
        self.objects = saved.objects.clone();
        self.compact(version);
    }

    pub(super) fn save(&self) -> SavedBucket {
        SavedBucket {
            id: self.id,
            objects: self.objects.clone(),
        }
    }

    /// Ends every watch after it has sent its remaining events.
    pub(super) fn end(self) {
        self.changed.send_replace(Some(Arc::new(self.history)));
    }

    /// At most `limit` changes after `version`.
    ///
    /// # Errors
    /// [`Compacted`] if some of them are gone.
    pub(super) fn since(&self, version: u64, limit: usize) -> Result<Vec<Arc<Change>>, Compacted> {
        if version < self.compacted {
            return Err(Compacted {
                oldest: self.compacted,
            });
        }
        let first = self
            .history
            .partition_point(|change| change.version <= version);
        Ok(self.history.range(first..).take(limit).cloned().collect())
    }

    /// The objects in key order as they were at `version`, from `start` on, in one namespace or in all.
    ///
    /// # Errors
    /// [`Compacted`] if that state is gone.
    pub(super) fn at(
        &self,
        version: u64,
        namespace: Option<&str>,
        start: Option<&Key>,
    ) -> Result<Vec<(Key, Arc<Encoded>)>, Compacted> {
        if version < self.compacted {
            return Err(Compacted {
                oldest: self.compacted,
            });
        }
        let wanted = |key: &Key| key.is_in(namespace) && start.is_none_or(|start| key >= start);
        // The state before the first later change: walking backwards keeps the earliest.
        let mut past: BTreeMap<&Key, Option<&Arc<Encoded>>> = BTreeMap::new();
        for change in self
            .history
            .iter()
            .rev()
            .take_while(|change| change.version > version)
        {
            if wanted(&change.key) {
                past.insert(&change.key, change.before.as_ref());
            }
        }
        if past.is_empty() {
            return Ok(self.now(namespace, start));
        }
        let mut objects: BTreeMap<&Key, &Arc<Encoded>> = self
            .objects
            .iter()
            .filter(|(key, _)| wanted(key) && !past.contains_key(key))
            .collect();
        let past = past.into_iter();
        objects.extend(past.filter_map(|(key, object)| Some((key, object?))));
        let objects = objects.into_iter();
        Ok(objects
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect())
    }

    fn now(&self, namespace: Option<&str>, start: Option<&Key>) -> Vec<(Key, Arc<Encoded>)> {
        let first = namespace.map(|namespace| Key::new(Some(namespace), ""));
        let first = first.as_ref().max(start);
        let from = first.map_or(Bound::Unbounded, Bound::Included);
        self.objects
            .range::<Key, _>((from, Bound::Unbounded))
            .take_while(|(key, _)| key.is_in(namespace))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect()
    }
}

/// One write: the states before and after it. A creation has no `before`, a deletion no `after`.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: Key,
    /// The state before the write.
    pub(crate) before: Option<Arc<Encoded>>,
    pub(crate) after: Option<Arc<Encoded>>,
    /// The last state of a deleted object, with the resource version of the deletion.
    pub(crate) deleted: Option<Arc<Encoded>>,
}

impl Change {
    /// The size of the states that are not the object's any more.
    fn bytes(&self) -> usize {
        let states = [&self.before, &self.deleted].into_iter().flatten();
        states.map(|state| state.json().len()).sum()
    }
}
