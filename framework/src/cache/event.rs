use std::{fmt, sync::Arc};

use crate::resource::{Object, ObjectKey, Undecodable};

/// A change that a cache has taken in.
///
/// The store is written before a listener sees the event, so it is never older than the event.
/// Per object a listener sees states in the server's order; during an outage some may be left out,
/// but never the last one. A version that was seen already is not reported again, unless by a
/// [resync](Self::Resync) to who asked for it.
pub enum Event<K> {
    /// The object is new to the cache.
    Added {
        /// The object.
        object: Arc<K>,
        /// It belongs to the first list, or to the snapshot that a late listener starts with.
        initial: bool,
    },
    /// The object has changed.
    Updated {
        /// The version before.
        old: Arc<K>,
        /// The version now.
        new: Arc<K>,
    },
    /// The object was deleted and another of the same name created, which went by unseen.
    ///
    /// client-go reports this as an update, and its users are to compare UIDs.
    Recreated {
        /// The last known version of the object that is gone.
        old: Arc<K>,
        /// The object that bears the name now.
        new: Arc<K>,
    },
    /// The object is gone.
    Deleted {
        /// Its last version.
        object: Arc<K>,
        /// Whether `object` is the state it was deleted in. If not, the deletion went by unseen
        /// (or could not be decoded) and `object` is the last version the cache had.
        final_state_known: bool,
    },
    /// The server has a version that does not decode. It is not a deletion.
    Undecodable {
        /// What could be read.
        object: Arc<Undecodable>,
        /// The last version that did decode, if there was one.
        last: Option<Arc<K>>,
    },
    /// An object is gone of which no version ever did decode.
    UndecodableDeleted {
        /// What could be read.
        object: Arc<Undecodable>,
    },
    /// Nothing happened: the object is told again to a listener that
    /// [asked for it](super::ListenerOptions::resync). Of those that do not decode nothing is told.
    ///
    /// client-go reports this as an update from a version to itself.
    Resync {
        /// The object.
        object: Arc<K>,
    },
}

impl<K: Object> Event<K> {
    /// Namespace and name of the object.
    pub fn key(&self) -> ObjectKey {
        match self {
            Self::Added { object, .. } | Self::Deleted { object, .. } | Self::Resync { object } => {
                object.key()
            }
            Self::Updated { new, .. } | Self::Recreated { new, .. } => new.key(),
            Self::Undecodable { object, .. } | Self::UndecodableDeleted { object } => {
                object.key.clone()
            }
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
            Self::Undecodable { object, last } => Self::Undecodable {
                object: object.clone(),
                last: last.clone(),
            },
            Self::UndecodableDeleted { object } => Self::UndecodableDeleted {
                object: object.clone(),
            },
            Self::Resync { object } => Self::Resync {
                object: object.clone(),
            },
        }
    }
}

/// Kind of change, key and resource version: objects may hold secrets.
impl<K: Object> fmt::Debug for Event<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, version) = match self {
            Self::Added { object, .. } => ("Added", object.resource_version()),
            Self::Updated { new, .. } => ("Updated", new.resource_version()),
            Self::Recreated { new, .. } => ("Recreated", new.resource_version()),
            Self::Deleted { object, .. } => ("Deleted", object.resource_version()),
            Self::Resync { object } => ("Resync", object.resource_version()),
            Self::Undecodable { object, .. } => ("Undecodable", object.resource_version.as_deref()),
            Self::UndecodableDeleted { object } => {
                ("UndecodableDeleted", object.resource_version.as_deref())
            }
        };
        let version = version.unwrap_or("?");
        write!(f, "{name}({} at {version})", self.key())
    }
}
