use std::{cell::OnceCell, sync::Arc};

use super::Change;
use crate::{
    cache::{Entry, Event},
    resource::{Object, ObjectKey, ObjectMeta},
};

/// A version of an object as sources see it: the last one of an [`Entry`] that decoded, or one that is not decoded yet.
///
/// Sources, and predicates and mappings that need no more, use its metadata. Only the other predicates and mappings ask
/// for the object.
pub(crate) enum Version<'a, K> {
    Stored(&'a K),
    /// The cache does not store the object decoded, but its decoded form is in memory.
    Unpacked(Arc<K>),
    /// The object is decoded only if somebody asks for it.
    Packed(PackedVersion<'a, K>),
}

/// A version that is decoded when somebody asks for the object.
pub(crate) struct PackedVersion<'a, K> {
    entry: &'a Entry<K>,
    metadata: Box<ObjectMeta>,
    object: OnceCell<Option<Arc<K>>>,
}

impl<'a, K: Object> Version<'a, K> {
    /// Returns `None` if no version decoded, as far as it is known.
    fn last_of(entry: &'a Entry<K>) -> Option<Self> {
        if let Some(object) = entry.stored_object() {
            return Some(Self::Stored(&**object));
        }
        if entry.undecodable().is_some() {
            return None;
        }
        if let Some(object) = entry.decoded_object() {
            return Some(Self::Unpacked(object));
        }
        match entry.packed_metadata() {
            Some(metadata) => Some(Self::Packed(PackedVersion {
                entry,
                metadata: Box::new(metadata),
                object: OnceCell::new(),
            })),
            None => entry.last_object().map(Self::Unpacked),
        }
    }

    /// The object. It is decoded if needed. Returns `None` if it turns out not to decode.
    pub(crate) fn object(&self) -> Option<&K> {
        match self {
            Self::Stored(object) => Some(object),
            Self::Unpacked(object) => Some(object),
            Self::Packed(version) => {
                let decoded = || version.entry.last_object();
                version.object.get_or_init(decoded).as_deref()
            }
        }
    }

    pub(crate) fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Stored(object) => object.metadata(),
            Self::Unpacked(object) => object.metadata(),
            Self::Packed(version) => &version.metadata,
        }
    }

    pub(crate) fn key(&self) -> ObjectKey {
        match self {
            Self::Stored(object) => object.key(),
            Self::Unpacked(object) => object.key(),
            Self::Packed(version) => version.entry.key(),
        }
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
