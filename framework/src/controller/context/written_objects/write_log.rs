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

/// What one call wrote, by object.
#[derive(Debug)]
pub(super) struct WriteLog {
    objects: HashMap<ObjectId, Arc<ObjectWrites>>,
    /// The number of the last write.
    last: u64,
    /// With so many objects, those are forgotten that the caches have.
    limit: usize,
}

/// What the writes of one call left of the objects of one name. The answers of concurrent writes may come in any order.
#[derive(Debug)]
pub(super) struct ObjectWrites {
    pub(super) resource: ApiResource,
    pub(super) key: ObjectKey,
    /// The newest stored state. `None` if that object is gone.
    pub(super) stored: Option<Stored>,
    /// The objects that are gone.
    gone: Vec<Gone>,
    /// The number of the last write.
    pub(super) number: u64,
    /// A read of the kind could not show the writes.
    was_missed: AtomicBool,
}

/// The answer to a write.
#[derive(Debug)]
pub(in crate::controller::context) enum Answer {
    Stored(Stored),
    Gone(Gone),
}

/// An object as the server stored it.
#[derive(Clone, Debug)]
pub(in crate::controller::context) struct Stored {
    pub(in crate::controller::context) uid: String,
    pub(in crate::controller::context) version: String,
    /// The whole object. `None` if reads do not show it.
    pub(in crate::controller::context) whole: Option<EncodedObject>,
}

/// An object that was deleted.
#[derive(Clone, Debug)]
pub(in crate::controller::context) struct Gone {
    pub(in crate::controller::context) uid: String,
    /// A version of the object, if one is known.
    pub(in crate::controller::context) existed: Option<String>,
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

impl WriteLog {
    /// Notes the answer to a write of `key`. `is_awaited` tells of an object whether a cache may not have its last write yet.
    pub(super) fn note(
        &mut self,
        resource: &ApiResource,
        key: &ObjectKey,
        answer: Answer,
        is_awaited: impl Fn(&ObjectWrites) -> bool,
    ) {
        self.last += 1;
        let object = object_id(resource, key);
        let earlier = self.objects.get(&object);
        let mut writes = ObjectWrites {
            resource: resource.clone(),
            key: key.clone(),
            stored: earlier.and_then(|earlier| earlier.stored.clone()),
            gone: earlier.map_or_else(Vec::new, |earlier| earlier.gone.clone()),
            number: self.last,
            was_missed: AtomicBool::new(earlier.is_some_and(|earlier| earlier.was_missed())),
        };
        writes.add(answer);
        self.objects.insert(object, Arc::new(writes));
        if self.objects.len() > self.limit {
            let keep = |writes: &ObjectWrites| writes.was_missed() || is_awaited(writes);
            self.objects.retain(|_, writes| keep(writes));
            self.limit = LIMIT.max(2 * self.objects.len());
        }
    }

    /// The number of the last write, and the objects of `resource` that were written after write `number`.
    pub(super) fn since(
        &self,
        resource: &ApiResource,
        number: u64,
    ) -> (u64, Vec<Arc<ObjectWrites>>) {
        let is_new = |writes: &&Arc<ObjectWrites>| {
            let kind = &writes.resource;
            writes.number > number && kind.plural == resource.plural && kind.group == resource.group
        };
        let objects = match number == self.last {
            true => Vec::new(),
            false => self.objects.values().filter(is_new).cloned().collect(),
        };
        (self.last, objects)
    }

    /// Whether a read of the kind could not show the writes of `object`.
    pub(super) fn was_missed(&self, object: &ObjectId) -> bool {
        let writes = self.objects.get(object);
        writes.is_some_and(|writes| writes.was_missed())
    }
}

impl ObjectWrites {
    fn add(&mut self, answer: Answer) {
        match answer {
            Answer::Gone(gone) => self.gone.push(gone),
            Answer::Stored(stored) => {
                let is_older = |known: &Stored| is_older(&stored.version, &known.version);
                if !self.stored.as_ref().is_some_and(is_older) {
                    self.stored = Some(stored);
                }
            }
        }
        let Some(Stored { uid, version, .. }) = &self.stored else {
            return;
        };
        let gone = self.gone.iter_mut().find(|gone| gone.uid == *uid);
        if let Some(gone) = gone {
            gone.existed.get_or_insert_with(|| version.clone());
        }
        if self.is_gone(Some(uid), Some(version)) {
            self.stored = None;
        }
    }

    /// Whether an object of the name, which a cache has at `version`, is known to be gone: it is one of those that the call
    /// deleted, or it was there before one of them.
    pub(super) fn is_gone(&self, uid: Option<&str>, version: Option<&str>) -> bool {
        self.gone.iter().any(|gone| {
            let was_before = version
                .zip(gone.existed.as_deref())
                .is_some_and(|(version, existed)| is_older(version, existed));
            uid == Some(&gone.uid) || was_before
        })
    }

    /// A read of the kind could not show the writes.
    pub(super) fn miss(&self) {
        self.was_missed.store(true, Ordering::Relaxed);
    }

    fn was_missed(&self) -> bool {
        self.was_missed.load(Ordering::Relaxed)
    }
}

fn is_older(version: &str, other: &str) -> bool {
    compare_versions(version, other).is_some_and(|order| order.is_lt())
}
