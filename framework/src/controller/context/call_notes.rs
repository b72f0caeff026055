use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use crate::{
    cache::{Lister, UndecodableRead},
    controller::state::{ObjectId, object_id},
    resource::{ApiResource, Object, ObjectKey, Undecodable},
};

/// The children that one call asked for. A child is noted before anything is sent, so that pruning keeps it even if the
/// write failed. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestedChildren(LazyShared<HashMap<ObjectId, usize>>);

impl RequestedChildren {
    /// Notes a child. Returns whether it was not noted before.
    pub(super) fn note(&self, resource: &ApiResource, key: &ObjectKey) -> bool {
        let mut requested = self.0.get_or_make();
        let times = requested.entry(object_id(resource, key)).or_default();
        *times += 1;
        *times == 1
    }

    pub(super) fn contains(&self, resource: &ApiResource, key: &ObjectKey) -> bool {
        let requested = self.0.get();
        requested.is_some_and(|requested| requested.contains_key(&object_id(resource, key)))
    }

    /// Whether the call asked for the child exactly once.
    pub(super) fn is_noted_once(&self, child: &ObjectId) -> bool {
        let requested = self.0.get();
        requested.is_some_and(|requested| requested.get(child) == Some(&1))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.get().is_none()
    }
}

/// The kinds that one call read. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadKinds(LazyShared<Kinds>);

#[derive(Debug, Default)]
struct Kinds {
    /// The call asked for a way to read all kinds.
    all: bool,
    /// Group and plural of each. A call reads few kinds.
    some: Vec<(Cow<'static, str>, Cow<'static, str>)>,
}

impl ReadKinds {
    pub(super) fn note(&self, resource: &ApiResource) {
        let mut kinds = self.0.get_or_make();
        if !kinds.contains(&resource.group, &resource.plural) {
            let kind = (resource.group.clone(), resource.plural.clone());
            kinds.some.push(kind);
        }
    }

    pub(super) fn note_all(&self) {
        self.0.get_or_make().all = true;
    }

    /// Whether the call may have read the kind of the object.
    pub(super) fn contains(&self, (group, plural, _): &ObjectId) -> bool {
        let kinds = self.0.get();
        kinds.is_some_and(|kinds| kinds.contains(group, plural))
    }
}

impl Kinds {
    fn contains(&self, group: &str, plural: &str) -> bool {
        let mut some = self.some.iter();
        self.all || some.any(|(one, of)| one == group && of == plural)
    }
}

/// The first object that a read of one call met and that does not decode. What the call made of the other objects may be too
/// little, so nothing is pruned after it. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct UndecodableReads(LazyShared<ReadNotes>);

#[derive(Default)]
struct ReadNotes {
    first: Option<Arc<Undecodable>>,
    /// The snapshots that the call got. An object of them may turn out not to decode when the call reads it.
    snapshots: Vec<LaterFailure>,
}

type LaterFailure = Box<dyn Fn() -> Option<Arc<Undecodable>> + Send + Sync>;

impl ReadNotes {
    /// At most this many snapshots are remembered. Of a call that takes more, the oldest ones are looked at early.
    const SNAPSHOTS: usize = 64;

    fn note(&mut self, read: UndecodableRead<'_>) {
        match read {
            UndecodableRead::Object(object) => {
                self.first.get_or_insert_with(|| object.clone());
            }
            UndecodableRead::Snapshot(_) if self.first.is_some() => {}
            UndecodableRead::Snapshot(later) => {
                if self.snapshots.len() == Self::SNAPSHOTS {
                    self.first = self.snapshots.remove(0)();
                }
                self.snapshots.push(later);
            }
        }
    }
}

impl fmt::Debug for ReadNotes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadNotes")
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

impl UndecodableReads {
    /// The same lister, whose reads are noted here.
    pub(super) fn note_reads_of<C: Object>(&self, lister: Lister<C>) -> Lister<C> {
        let notes = self.0.share();
        lister.on_undecodable(move |read| notes.lock().note(read))
    }

    pub(super) fn note(&self, object: &Arc<Undecodable>) {
        let mut notes = self.0.get_or_make();
        notes.note(UndecodableRead::Object(object));
    }

    pub(super) fn first(&self) -> Option<Arc<Undecodable>> {
        let mut notes = self.0.get()?;
        if notes.first.is_none() {
            notes.first = notes.snapshots.iter().find_map(|later| later());
        }
        notes.first.clone()
    }
}

/// The status that one call wrote last, as the server stored it. It is newer than the status of the object that the call
/// was given. Clones share it.
#[derive(Clone, Default)]
pub(super) struct LastStatus(LazyShared<Option<Value>>);

impl LastStatus {
    pub(super) fn get(&self) -> Option<Value> {
        self.0.get()?.clone()
    }

    pub(super) fn set(&self, status: Value) {
        *self.0.get_or_make() = Some(status);
    }
}

/// A value that is made at its first use and that clones share. For notes that only few reconciles take.
#[derive(Debug)]
pub(super) struct LazyShared<T>(OnceLock<Arc<Mutex<T>>>);

impl<T: Default> LazyShared<T> {
    /// Whether the value was made.
    pub(super) fn is_made(&self) -> bool {
        self.0.get().is_some()
    }

    /// The value; `None` if it was not made yet.
    pub(super) fn get(&self) -> Option<MutexGuard<'_, T>> {
        self.0.get().map(|value| value.lock())
    }

    pub(super) fn get_or_make(&self) -> MutexGuard<'_, T> {
        self.0.get_or_init(Arc::default).lock()
    }

    /// The value, for a holder that may live longer.
    fn share(&self) -> Arc<Mutex<T>> {
        self.0.get_or_init(Arc::default).clone()
    }
}

impl<T: Default> Clone for LazyShared<T> {
    fn clone(&self) -> Self {
        Self(self.0.get_or_init(Arc::default).clone().into())
    }
}

impl<T> Default for LazyShared<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}
