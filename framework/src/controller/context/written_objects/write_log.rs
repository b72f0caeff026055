use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    client::EncodedObject,
    controller::{
        read_your_writes::compare_versions,
        state::{ObjectId, object_id},
    },
    resource::{ApiResource, ObjectKey},
};

/// The last write of each object that one call wrote.
#[derive(Debug)]
pub(in crate::controller::context) struct WriteLog {
    objects: HashMap<ObjectId, Arc<LastWrite>>,
    /// The number of the last write.
    last: u64,
    /// With so many objects, those are forgotten that the caches have.
    limit: usize,
}

/// How the last write left an object.
#[derive(Debug)]
pub(in crate::controller::context) struct LastWrite {
    pub(in crate::controller::context) resource: ApiResource,
    pub(in crate::controller::context) key: ObjectKey,
    pub(in crate::controller::context) uid: String,
    pub(in crate::controller::context) outcome: Outcome,
    /// Later writes have greater numbers. The log sets it.
    number: u64,
    /// A read of the kind could not show it.
    was_missed: AtomicBool,
}

#[derive(Debug)]
pub(in crate::controller::context) enum Outcome {
    Stored {
        version: String,
        /// The whole object. `None` if reads do not show it.
        answer: Option<EncodedObject>,
    },
    Gone {
        /// A version of the object, if one is known.
        existed: Option<String>,
    },
}

/// So many objects are remembered before the log looks for those that the caches have.
const LIMIT: usize = 256;

impl Default for WriteLog {
    fn default() -> Self {
        Self {
            objects: HashMap::new(),
            last: 0,
            limit: LIMIT,
        }
    }
}

impl LastWrite {
    pub(in crate::controller::context) fn new(
        resource: &ApiResource,
        key: ObjectKey,
        uid: String,
        outcome: Outcome,
    ) -> Self {
        Self {
            resource: resource.clone(),
            key,
            uid,
            outcome,
            number: 0,
            was_missed: AtomicBool::new(false),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// A read of the kind could not show this write.
    pub(super) fn miss(&self) {
        self.was_missed.store(true, Ordering::Relaxed);
    }

    fn was_missed(&self) -> bool {
        self.was_missed.load(Ordering::Relaxed)
    }

    /// Whether `earlier`, which was answered before this write, shows a later state of the object. The answers of concurrent
    /// writes may come in any order.
    fn is_older_than(&self, earlier: &Self) -> bool {
        let is_same = self.uid == earlier.uid;
        match (&self.outcome, &earlier.outcome) {
            // An object is not stored any more after it is gone. Another object of its name is.
            (Outcome::Stored { .. }, Outcome::Gone { .. }) => is_same,
            (Outcome::Gone { .. }, Outcome::Stored { .. }) => !is_same,
            (Outcome::Gone { .. }, Outcome::Gone { .. }) => false,
            (Outcome::Stored { version, .. }, Outcome::Stored { version: other, .. }) => {
                compare_versions(version, other).is_some_and(|order| order.is_lt())
            }
        }
    }
}

impl WriteLog {
    /// Notes the answer to a write. `is_awaited` tells of an object whether a cache may not have the last write of it yet.
    pub(super) fn note(&mut self, mut write: LastWrite, is_awaited: impl Fn(&LastWrite) -> bool) {
        self.last += 1;
        write.number = self.last;
        let object = object_id(&write.resource, &write.key);
        let earlier = self.objects.get(&object);
        if earlier.is_some_and(|earlier| write.is_older_than(earlier)) {
            return;
        }
        if let Outcome::Gone { existed } = &mut write.outcome
            && let Some(Outcome::Stored { version, .. }) = earlier.map(|earlier| &earlier.outcome)
        {
            existed.get_or_insert_with(|| version.clone());
        }
        self.objects.insert(object, Arc::new(write));
        if self.objects.len() > self.limit {
            let keep = |write: &LastWrite| write.was_missed() || is_awaited(write);
            self.objects.retain(|_, write| keep(write));
            self.limit = LIMIT.max(2 * self.objects.len());
        }
    }

    /// The number of the last write, and those of `resource` after write `number`, in their order.
    pub(super) fn since(&self, resource: &ApiResource, number: u64) -> (u64, Vec<Arc<LastWrite>>) {
        if number == self.last {
            return (number, Vec::new());
        }
        let is_new = |write: &&Arc<LastWrite>| {
            let kind = &write.resource;
            write.number > number && kind.plural == resource.plural && kind.group == resource.group
        };
        let mut writes: Vec<_> = self.objects.values().filter(is_new).cloned().collect();
        writes.sort_unstable_by_key(|write| write.number);
        (self.last, writes)
    }

    /// Whether a read of the kind could not show the last write of `object`.
    pub(super) fn was_missed(&self, object: &ObjectId) -> bool {
        let write = self.objects.get(object);
        write.is_some_and(|write| write.was_missed())
    }
}
