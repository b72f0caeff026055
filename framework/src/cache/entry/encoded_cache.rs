use std::{
    collections::VecDeque,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::{Entry, FailureCount, decoded_slot::ClockVisit, encoded_entry::EncodedEntry};
use crate::{
    client::{ObjectBytes, Types},
    resource::{ApiResource, Object, TypeMeta, Undecodable},
};

/// What the encoded objects of one cache share: how they are decoded, and which of them are in memory decoded as well.
///
/// An object that is read stays decoded until others need its room. Room is counted in bytes of the encoded form: a share of
/// the bytes of all objects of the cache, and [`FLOOR`](Self::FLOOR) at least. When it is used up, a clock goes over the
/// decoded objects and drops the forms that nobody has read since it came by last, and that nobody holds.
pub(in crate::cache) struct EncodedCache<K> {
    pub(super) resource: ApiResource,
    decode: fn(&ObjectBytes, &ApiResource) -> Result<Arc<K>, String>,
    share: f64,
    /// Bytes of all objects of the cache, and of old versions that are still in use.
    stored: AtomicUsize,
    /// Bytes of those that are decoded.
    decoded: AtomicUsize,
    /// The objects that are decoded, and some that are gone. No foreign code runs under this lock.
    clock: Mutex<VecDeque<Weak<EncodedEntry<K>>>>,
    /// The objects that turned out to be undecodable since the informer looked last: at most one for each version that the
    /// cache has held since then.
    failed: Mutex<Vec<Arc<Undecodable>>>,
    has_failed: Notify,
    /// Counts them.
    pub(in crate::cache) failures: Arc<FailureCount>,
}

impl<K: Object + DeserializeOwned> EncodedCache<K> {
    /// At most `share` of the bytes of the cache are decoded, if they are more than [`FLOOR`](Self::FLOOR).
    pub(in crate::cache) fn new(resource: ApiResource, share: f64) -> Arc<Self> {
        Arc::new(Self {
            resource,
            decode: decode::<K>,
            share,
            stored: AtomicUsize::new(0),
            decoded: AtomicUsize::new(0),
            clock: Mutex::default(),
            failed: Mutex::default(),
            has_failed: Notify::new(),
            failures: Arc::default(),
        })
    }
}

impl<K> EncodedCache<K> {
    /// Notes that the decoded form of an object of this size is gone.
    pub(super) fn note_dropped(&self, size: usize) {
        self.decoded.fetch_sub(size, Ordering::Relaxed);
    }

    /// Notes that an object of this size is gone.
    pub(super) fn note_gone(&self, size: usize) {
        self.stored.fetch_sub(size, Ordering::Relaxed);
    }
}

impl<K: Object> EncodedCache<K> {
    /// So many bytes may always be decoded: a small cache decodes nothing twice.
    pub(super) const FLOOR: usize = 1024 * 1024;

    /// The clock looks at so many objects when one is decoded. So nobody waits for a round, and the clock still keeps up.
    const STEPS: usize = 8;

    /// The object, as the cache stores it.
    pub(in crate::cache) fn entry(self: &Arc<Self>, bytes: ObjectBytes) -> Entry<K> {
        self.stored.fetch_add(bytes.len(), Ordering::Relaxed);
        Entry::packed(EncodedEntry::new(bytes, self.clone()))
    }

    /// Decodes an object that the cache will not store.
    ///
    /// # Errors
    /// The readable parts of the object.
    pub(in crate::cache) fn decode_now(
        &self,
        bytes: &ObjectBytes,
    ) -> Result<Arc<K>, Box<Undecodable>> {
        let decoded = self.decode(bytes);
        decoded.map_err(|reason| Box::new(bytes.undecodable(&self.resource, reason)))
    }

    /// # Errors
    /// The reason, which names a path and never a value.
    pub(super) fn decode(&self, bytes: &ObjectBytes) -> Result<Arc<K>, String> {
        let object = (self.decode)(bytes, &self.resource)?;
        // The cache has read these itself, in another way.
        let is_same = object.key() == *bytes.key()
            && object.uid() == bytes.uid()
            && object.resource_version() == bytes.resource_version();
        match is_same {
            true => Ok(object),
            false => Err("metadata: the document has two of them".to_owned()),
        }
    }

    /// The objects that turned out to be undecodable since the last call, each version once. When they are marked in the
    /// state that readers see, the caller calls [`note_marked`](Self::note_marked).
    pub(in crate::cache) fn take_failed(&self) -> Vec<Arc<Undecodable>> {
        std::mem::take(&mut self.failed.lock())
    }

    /// Notes that so many of them are marked, or are not in the cache any more.
    pub(in crate::cache) fn note_marked(&self, objects: usize) {
        self.failures.marked.fetch_add(objects, Ordering::Release);
    }

    /// Waits until there are such objects. Losing the future loses nothing.
    pub(in crate::cache) async fn has_failed(&self) {
        self.has_failed.notified().await;
    }

    pub(super) fn note_failure(&self, object: &Arc<Undecodable>) {
        self.failures.found.fetch_add(1, Ordering::Release);
        self.failed.lock().push(object.clone());
        self.has_failed.notify_one();
    }

    fn room(&self) -> usize {
        let share = self.stored.load(Ordering::Relaxed) as f64 * self.share;
        Self::FLOOR.max(share as usize)
    }

    /// Notes that an object is decoded now, and drops the decoded forms of others if there is no room.
    pub(super) fn note_decoded(&self, object: &EncodedEntry<K>) {
        self.decoded.fetch_add(object.size(), Ordering::Relaxed);
        let room = self.room();
        // Dropped after the lock, because a type may have code of its own for that.
        let (mut seen, mut dropped) = (Vec::new(), Vec::new());
        let mut clock = self.clock.lock();
        for step in 0..Self::STEPS.min(clock.len()) {
            let is_full = self.decoded.load(Ordering::Relaxed) > room;
            // Objects that are gone leave their places in the clock, also while there is room.
            if !is_full && step >= 2 {
                break;
            }
            let Some(first) = clock.pop_front() else {
                break;
            };
            let Some(other) = first.upgrade() else {
                continue;
            };
            let visit = match is_full {
                true => other.slot().visit(),
                false => ClockVisit::Stays,
            };
            match visit {
                ClockVisit::Stays => clock.push_back(first),
                ClockVisit::Empty => {}
                ClockVisit::Emptied(form) => {
                    self.note_dropped(other.size());
                    dropped.push(form);
                }
            }
            seen.push(other);
        }
        clock.push_back(object.own());
        if clock.capacity() > 64 && clock.len() < clock.capacity() / 4 {
            clock.shrink_to_fit();
        }
        drop(clock);
        drop((seen, dropped));
    }

    /// Bytes of all objects, bytes of the decoded ones, and places in the clock.
    #[cfg(test)]
    pub(in crate::cache) fn sizes(&self) -> (usize, usize, usize) {
        let clock = self.clock.lock().len();
        (
            self.stored.load(Ordering::Relaxed),
            self.decoded.load(Ordering::Relaxed),
            clock,
        )
    }
}

fn decode<K: Object + DeserializeOwned>(
    bytes: &ObjectBytes,
    resource: &ApiResource,
) -> Result<Arc<K>, String> {
    let mut object: K = bytes.decode()?;
    if let Some(TypeMeta { api_version, kind }) = object.types() {
        Types { api_version, kind }.check_object(resource, false)?;
    }
    object.fill_types(resource);
    Ok(Arc::new(object))
}
