use std::{fmt, sync::Arc};

use super::Entry;
use crate::resource::{Object, ObjectKey, Undecodable};

/// A change that a cache has applied.
///
/// The store is written before a listener receives the event, so the store is never older than the event. A listener
/// receives the states of an object in the server's order. Some states may be missing after an outage, but never the
/// last one. A version that was delivered is not delivered again, except by a [resync](Self::Resync) to a listener
/// that requested it.
///
/// An event has handles of objects. [`Entry::object`] returns the object, and key, UID, resource version, labels and
/// owners need no decoding. A version that does not decode (R8) is delivered like any other: its handle's
/// [`object`](Entry::object) returns an error, and [`last_object`](Entry::last_object) the last version that decoded.
///
/// ```
/// use pilothouse::{cache::Event, k8s::api::core::v1::ConfigMap, resource::Object};
///
/// fn print(event: &Event<ConfigMap>) {
///     match (event, event.entry().object()) {
///         (Event::Deleted { .. }, _) => println!("{} is gone", event.key()),
///         (_, Ok(map)) => println!("{} has {:?}", map.name(), map.data),
///         (_, Err(error)) => println!("{error}"),
///     }
/// }
/// ```
pub enum Event<K> {
    /// The object is new to the cache.
    Added {
        /// The object.
        object: Entry<K>,
        /// The object belongs to the first list, or to the snapshot that a late listener starts with.
        initial: bool,
    },
    /// The object changed.
    Updated {
        /// The previous version.
        old: Entry<K>,
        /// The present version.
        new: Entry<K>,
    },
    /// The object was deleted, and another one with the same name was created; the cache did not see the deletion.
    ///
    /// client-go reports an update, and its users must compare UIDs.
    Recreated {
        /// The last known version of the deleted object.
        old: Entry<K>,
        /// The object that has the name now.
        new: Entry<K>,
    },
    /// The object was deleted.
    Deleted {
        /// Its last version.
        object: Entry<K>,
        /// Whether `object` is the state in which the object was deleted. If not, the cache did not see the deletion
        /// (or could not decode it), and `object` is the last version that the cache had.
        final_state_known: bool,
    },
    /// The object did not change: it is delivered again to a listener that [requested
    /// it](super::ListenerOptions::resync). An object that does not decode is not delivered again.
    ///
    /// client-go reports an update from a version to itself.
    Resync {
        /// The object.
        object: Entry<K>,
    },
}

/// The origin of an event.
///
/// A list does not tell when a change happened, and it may bring many changes at once: after an outage, or when the
/// server no longer has the version that the watch would continue from. A change that the watch brings has just happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventOrigin {
    /// The cache had the object before the listener was added.
    Existing,
    /// A list of the collection, or a [resync](Event::Resync). Changes that happen while a list is read count as part
    /// of the list.
    List,
    /// The watch.
    Watch,
}

impl<K: Object> Event<K> {
    /// The event of `new`, if the cache had `old` for its key.
    pub(in crate::cache) fn of_change(old: Option<Entry<K>>, new: Entry<K>, initial: bool) -> Self {
        match old {
            None => Self::Added {
                object: new,
                initial,
            },
            Some(old) if old.is_replaced_by(new.known_uid()) => Self::Recreated { old, new },
            Some(old) => Self::Updated { old, new },
        }
    }

    /// The event of an object whose deletion the cache did not see. The cache had `object`.
    pub(in crate::cache) fn of_unseen_deletion(object: Entry<K>) -> Self {
        Self::Deleted {
            object,
            final_state_known: false,
        }
    }

    /// Namespace and name of the object.
    pub fn key(&self) -> ObjectKey {
        self.entry().key()
    }

    /// About how many bytes are freed when the event is dropped and nobody else has the version that it replaced. A decoded
    /// object counts as a small one: large objects are seldom stored decoded.
    pub(in crate::cache) fn replaced_bytes(&self) -> usize {
        const DECODED: usize = 2 * 1024;
        let replaced = match self {
            Self::Updated { old, .. } | Self::Recreated { old, .. } => old,
            Self::Deleted { object, .. } => object,
            Self::Added { .. } | Self::Resync { .. } => return 0,
        };
        replaced.packed_size().unwrap_or(DECODED)
    }

    /// What could be read of the present version, if the server has one and it does not decode.
    pub(crate) fn undecodable(&self) -> Option<&Arc<Undecodable>> {
        match self {
            Self::Deleted { .. } => None,
            _ => self.entry().undecodable(),
        }
    }
}

impl<K> Event<K> {
    /// The object as it is after the change; for a deletion its last version.
    pub fn entry(&self) -> &Entry<K> {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } | Self::Resync { object } => {
                object
            }
            Self::Updated { new, .. } | Self::Recreated { new, .. } => new,
        }
    }
}

impl<K> Clone for Event<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Added { object, initial } => Self::Added {
                object: object.clone(),
                initial: *initial,
            },
            Self::Updated { old, new } => Self::Updated {
                old: old.clone(),
                new: new.clone(),
            },
            Self::Recreated { old, new } => Self::Recreated {
                old: old.clone(),
                new: new.clone(),
            },
            Self::Deleted {
                object,
                final_state_known,
            } => Self::Deleted {
                object: object.clone(),
                final_state_known: *final_state_known,
            },
            Self::Resync { object } => Self::Resync {
                object: object.clone(),
            },
        }
    }
}

/// Shows the kind of change, the key and the resource version only, and whether the version does not decode: objects
/// may hold secrets.
impl<K: Object> fmt::Debug for Event<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Added { .. } => "Added",
            Self::Updated { .. } => "Updated",
            Self::Recreated { .. } => "Recreated",
            Self::Deleted { .. } => "Deleted",
            Self::Resync { .. } => "Resync",
        };
        let entry = self.entry();
        let version = entry.resource_version().unwrap_or("?");
        let undecodable = match entry.undecodable() {
            Some(_) => ", undecodable",
            None => "",
        };
        write!(f, "{name}({} at {version}{undecodable})", entry.key())
    }
}
