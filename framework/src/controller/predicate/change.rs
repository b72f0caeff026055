use std::fmt;

use crate::resource::ObjectMeta;

/// What happened to an object, as a [`Predicate`](crate::controller::Predicate) and a mapping see it.
///
/// Do not use it as a delta to act on: a reconcile takes the newest object from the cache.
#[non_exhaustive]
pub enum Change<'a, K> {
    /// The object is new.
    Created {
        /// The object.
        object: &'a K,
        /// The object belongs to the first list: it existed before the controller started.
        initial: bool,
    },
    /// The object has a new version.
    Updated {
        /// The version before.
        old: &'a K,
        /// The version now.
        new: &'a K,
    },
    /// The deletion of the object began: it has a deletion timestamp, and is gone when its last finalizer is removed.
    DeletionBegan {
        /// The version before; `None` if the object is being deleted when it is seen first.
        old: Option<&'a K>,
        /// The version now.
        new: &'a K,
    },
    /// The object is gone.
    Deleted {
        /// Its last known version.
        object: &'a K,
    },
    /// The object has not changed. The informer delivers it again because a resync period is set.
    Resync {
        /// The object.
        object: &'a K,
    },
}

impl<'a, K> Change<'a, K> {
    pub(crate) fn created(
        object: &'a K,
        initial: bool,
        metadata: impl Fn(&K) -> &ObjectMeta,
    ) -> Self {
        match metadata(object).deletion_timestamp.is_some() {
            true => Self::DeletionBegan {
                old: None,
                new: object,
            },
            false => Self::Created { object, initial },
        }
    }

    pub(crate) fn updated(old: &'a K, new: &'a K, metadata: impl Fn(&K) -> &ObjectMeta) -> Self {
        let is_deleting = |object: &K| metadata(object).deletion_timestamp.is_some();
        match is_deleting(new) && !is_deleting(old) {
            true => Self::DeletionBegan {
                old: Some(old),
                new,
            },
            false => Self::Updated { old, new },
        }
    }

    /// The same change of a part of the object.
    pub(crate) fn map<T>(&self, part: impl Fn(&'a K) -> &'a T) -> Change<'a, T> {
        match *self {
            Self::Created { object, initial } => Change::Created {
                object: part(object),
                initial,
            },
            Self::Updated { old, new } => Change::Updated {
                old: part(old),
                new: part(new),
            },
            Self::DeletionBegan { old, new } => Change::DeletionBegan {
                old: old.map(&part),
                new: part(new),
            },
            Self::Deleted { object } => Change::Deleted {
                object: part(object),
            },
            Self::Resync { object } => Change::Resync {
                object: part(object),
            },
        }
    }

    /// The same change of a part of the object that may be missing. Returns `None` if it is missing in each version. If it is
    /// missing in the new version only, the old one stands for both; if in the old one only, the object is new.
    pub(crate) fn try_map<T>(
        &self,
        part: impl Fn(&'a K) -> Option<&'a T>,
    ) -> Option<Change<'a, T>> {
        Some(match *self {
            Self::Created { object, initial } => Change::Created {
                object: part(object)?,
                initial,
            },
            Self::Updated { old, new } => match (part(old), part(new)) {
                (Some(old), Some(new)) => Change::Updated { old, new },
                (Some(old), None) => Change::Updated { old, new: old },
                (None, new) => Change::Created {
                    object: new?,
                    initial: false,
                },
            },
            Self::DeletionBegan { old, new } => {
                let old = old.and_then(&part);
                Change::DeletionBegan {
                    old,
                    new: part(new).or(old)?,
                }
            }
            Self::Deleted { object } => Change::Deleted {
                object: part(object)?,
            },
            Self::Resync { object } => Change::Resync {
                object: part(object)?,
            },
        })
    }

    /// The version now, or the last one if the object is gone.
    pub(crate) fn last(&self) -> &'a K {
        match *self {
            Self::Updated { new, .. } | Self::DeletionBegan { new, .. } => new,
            Self::Created { object, .. } | Self::Resync { object } | Self::Deleted { object } => {
                object
            }
        }
    }

    /// The version before. Returns `None` if there was none or if it is not known.
    pub fn old(&self) -> Option<&'a K> {
        match *self {
            Self::Updated { old, .. } => Some(old),
            Self::DeletionBegan { old, .. } => old,
            Self::Deleted { object } => Some(object),
            Self::Created { .. } | Self::Resync { .. } => None,
        }
    }

    /// The version now. Returns `None` if the object is gone.
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

/// Shows only the kind of the change, because objects may hold secrets.
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
