use std::fmt;

use crate::{cache::Event, resource::Object};

/// What happened to an object, as a [`Predicate`](super::Predicate) and a mapping see it.
///
/// Never a delta to act upon: a reconcile takes the newest object from the cache.
#[non_exhaustive]
pub enum Change<'a, K> {
    /// The object is new.
    Created {
        /// The object.
        object: &'a K,
        /// It belongs to the first list: it was there before the controller was.
        initial: bool,
    },
    /// It is another version than before.
    Updated {
        /// The version before.
        old: &'a K,
        /// The version now.
        new: &'a K,
    },
    /// Its deletion began: it has a deletion timestamp, and goes when it has no finalizer any more.
    DeletionBegan {
        /// The version before; `None` if the object is being deleted when it is seen first.
        old: Option<&'a K>,
        /// The version now.
        new: &'a K,
    },
    /// It is gone.
    Deleted {
        /// Its last known version.
        object: &'a K,
    },
    /// Nothing happened; it is told again because that was asked for.
    Resync {
        /// The object.
        object: &'a K,
    },
}

impl<'a, K: Object> Change<'a, K> {
    pub(super) fn created(object: &'a K, initial: bool) -> Self {
        match object.is_deleting() {
            true => Self::DeletionBegan {
                old: None,
                new: object,
            },
            false => Self::Created { object, initial },
        }
    }

    pub(super) fn updated(old: &'a K, new: &'a K) -> Self {
        match new.is_deleting() && !old.is_deleting() {
            true => Self::DeletionBegan {
                old: Some(old),
                new,
            },
            false => Self::Updated { old, new },
        }
    }

    /// What an event means, one after the other. Of an object that does not decode the last
    /// version that did counts as its state before and now.
    pub(super) fn of(event: &'a Event<K>) -> impl Iterator<Item = Self> {
        let changes = match event {
            Event::Added { object, initial } => [Some(Self::created(object, *initial)), None],
            Event::Updated { old, new } => [Some(Self::updated(old, new)), None],
            Event::Recreated { old, new } => [
                Some(Self::Deleted { object: old }),
                Some(Self::created(new, false)),
            ],
            Event::Deleted { object, .. } => [Some(Self::Deleted { object }), None],
            Event::Resync { object } => [Some(Self::Resync { object }), None],
            Event::Undecodable { last, .. } => {
                let last = last.as_deref();
                [
                    last.map(|last| Self::Updated {
                        old: last,
                        new: last,
                    }),
                    None,
                ]
            }
            Event::UndecodableDeleted { .. } => [None, None],
        };
        changes.into_iter().flatten()
    }
}

impl<'a, K> Change<'a, K> {
    /// The version before, if there was one and it is known.
    pub fn old(&self) -> Option<&'a K> {
        match *self {
            Self::Updated { old, .. } => Some(old),
            Self::DeletionBegan { old, .. } => old,
            Self::Deleted { object } => Some(object),
            Self::Created { .. } | Self::Resync { .. } => None,
        }
    }

    /// The version now; `None` if the object is gone.
    #[allow(clippy::new_ret_no_self)]
    pub fn new(&self) -> Option<&'a K> {
        match *self {
            Self::Updated { new, .. } | Self::DeletionBegan { new, .. } => Some(new),
            Self::Created { object, .. } | Self::Resync { object } => Some(object),
            Self::Deleted { .. } => None,
        }
    }

    /// The version before and the version now, as far as they exist.
    pub fn objects(&self) -> impl Iterator<Item = &'a K> + use<'a, K> {
        self.old().into_iter().chain(self.new())
    }
}

/// The kind of change only: objects may hold secrets.
impl<K> fmt::Debug for Change<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created { .. } => "Created",
            Self::Updated { .. } => "Updated",
            Self::DeletionBegan { .. } => "DeletionBegan",
            Self::Deleted { .. } => "Deleted",
            Self::Resync { .. } => "Resync",
        })
    }
}
