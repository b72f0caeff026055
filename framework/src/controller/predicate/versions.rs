use std::sync::Arc;

use super::Change;
use crate::{
    cache::{Entry, Event},
    resource::{Object, ObjectKey, ObjectMeta},
};

/// A version of an object as sources see it: the last one of an [`Entry`] that decoded.
///
/// Sources, and predicates and mappings that need no more, use its metadata. Only the other predicates and mappings ask
/// for the object.
pub(crate) enum Version<'a, K> {
    Stored(&'a K),
    /// The cache keeps the object packed.
    Unpacked(Arc<K>),
}

impl<'a, K: Object> Version<'a, K> {
    /// Returns `None` if no version decoded.
    fn last_of(entry: &'a Entry<K>) -> Option<Self> {
        match entry.stored_object() {
            Some(object) => Some(Self::Stored(object)),
            None => entry.last_object().map(Self::Unpacked),
        }
    }

    pub(crate) fn object(&self) -> &K {
        match self {
            Self::Stored(object) => object,
            Self::Unpacked(object) => object,
        }
    }

    pub(crate) fn metadata(&self) -> &ObjectMeta {
        self.object().metadata()
    }

    pub(crate) fn key(&self) -> ObjectKey {
        self.object().key()
    }
}

/// The versions that an event is about.
pub(crate) struct Versions<'a, K> {
    event: &'a Event<K>,
    old: Option<Version<'a, K>>,
    new: Option<Version<'a, K>>,
}

impl<'a, K: Object> Versions<'a, K> {
    pub(crate) fn of(event: &'a Event<K>) -> Self {
        let (old, new) = match event {
            Event::Added { object, .. } | Event::Resync { object } => (None, Some(object)),
            Event::Updated { old, new } | Event::Recreated { old, new } => (Some(old), Some(new)),
            Event::Deleted { object, .. } => (Some(object), None),
        };
        Self {
            event,
            old: old.and_then(Version::last_of),
            new: new.and_then(Version::last_of),
        }
    }

    /// The changes that the event stands for, in order.
    ///
    /// For an object that does not decode, the last version that did is both its old and its new state. If no
    /// version decoded before, the object is new.
    pub(crate) fn changes(&self) -> impl Iterator<Item = Change<'_, Version<'a, K>>> {
        let created = |new, initial| Change::created(new, initial, Version::metadata);
        let (old, new) = (self.old.as_ref(), self.new.as_ref());
        let deleted = old.map(|object| Change::Deleted { object });
        let changes = match (self.event, old, new) {
            (Event::Added { initial, .. }, _, new) => [new.map(|new| created(new, *initial)), None],
            (Event::Updated { .. }, Some(old), Some(new)) => {
                [Some(Change::updated(old, new, Version::metadata)), None]
            }
            (Event::Updated { .. }, _, new) => [new.map(|new| created(new, false)), None],
            (Event::Recreated { .. }, _, new) => [deleted, new.map(|new| created(new, false))],
            (Event::Deleted { .. }, ..) => [deleted, None],
            (Event::Resync { .. }, _, new) => [new.map(|object| Change::Resync { object }), None],
        };
        changes.into_iter().flatten()
    }
}
