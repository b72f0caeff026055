use std::{cmp::Ordering, fmt};

/// What one write demands of one informer's cache before the key may be reconciled again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    /// The cache has the object at this version or a later one.
    At {
        uid: Option<Box<str>>,
        version: Box<str>,
        /// The demand stands for other objects too. Only the version of the collection can meet it.
        whole: bool,
        /// The key wrote the object. If the object is gone by then, the key has to be reconciled. Otherwise the key has only read it.
        written: bool,
    },
    /// The object is gone.
    Gone {
        uid: Box<str>,
        /// A version of the object. A collection at this version or a later one that lacks the object shows that it is gone.
        existed: Option<Box<str>>,
        /// Whether the cache had the object.
        seen: bool,
    },
    /// Whether the server applied the write is not known.
    Unknown,
}

/// Whether a cache meets a demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    Not,
    There,
    /// The cache is past the version and has no such object, or another one of its name: the written object is gone.
    Missing,
}

/// The caches of the controller's informers.
pub(super) trait Caches<K> {
    /// Whether `informer` is still read. No demands are made on an informer that is not.
    fn has(&self, informer: usize) -> bool {
        let _ = informer;
        true
    }
    /// Calls `look` with the present state of `object` in the cache of `informer`.
    fn look<T>(&self, informer: usize, object: &K, look: impl FnOnce(View<'_>) -> T) -> T;
}

/// The state of one object and of the collection in a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct View<'a> {
    pub(super) held: Option<CachedObject<'a>>,
    /// The version of the collection.
    pub(super) collection: Option<&'a str>,
}

/// An object in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CachedObject<'a> {
    pub(super) uid: Option<&'a str>,
    pub(super) version: Option<&'a str>,
}

/// A change of an object in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheChange<'a> {
    /// The object exists, with this UID and version.
    Seen(Option<&'a str>, &'a str),
    /// The object with this UID is gone.
    Deleted(&'a str),
}

/// Shows a demand as `at version 17`.
impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At { version, .. } => write!(f, "at version {version}"),
            Self::Gone { .. } => f.write_str("gone"),
            Self::Unknown => f.write_str("with the outcome of a write"),
        }
    }
}

impl Demand {
    /// The demand that the cache has the object at `version`.
    pub(super) fn at(uid: Option<&str>, version: &str) -> Self {
        Self::At {
            uid: uid.map(Into::into),
            version: version.into(),
            whole: false,
            written: true,
        }
    }

    /// The demand that the cache is as new as `version` of an object that was only read.
    pub(super) fn as_new_as(uid: Option<&str>, version: &str) -> Self {
        Self::At {
            uid: uid.map(Into::into),
            version: version.into(),
            whole: false,
            written: false,
        }
    }

    /// The demand that the object `uid` is gone. `existed` is a version of it, if one is known. `had` says whether the cache had
    /// the object when the deletion was sent.
    pub(super) fn gone(uid: &str, existed: Option<&str>, had: bool) -> Self {
        Self::Gone {
            uid: uid.into(),
            existed: existed.map(Into::into),
            seen: had,
        }
    }

    /// Whether the cache meets the demand.
    pub(super) fn is_met(&mut self, view: View<'_>) -> Met {
        let reached = |version: &str| {
            let collection = view.collection.and_then(|seen| compare(seen, version));
            collection.is_some_and(Ordering::is_ge)
        };
        match self {
            Self::At {
                uid,
                version,
                whole,
                written,
            } => {
                let held = view.held.filter(|_| !*whole);
                let later = held.filter(|held| held.version.is_some_and(|at| is_at(at, version)));
                match later {
                    Some(held) => one_of(uid.as_deref(), held.uid, *written),
                    None if reached(version) && *written => Met::Missing,
                    None if reached(version) => Met::There,
                    None => Met::Not,
                }
            }
            Self::Gone { uid, existed, seen } => {
                if view.held.is_some_and(|held| held.uid == Some(uid)) {
                    *seen = true;
                    return Met::Not;
                }
                // An object of the same name may be a newer or an older one.
                let held = view.held.and_then(|held| held.version);
                let is_later = |existed: &str| {
                    let order = held.and_then(|held| compare(held, existed));
                    order.is_some_and(Ordering::is_gt) || reached(existed)
                };
                match *seen || existed.as_deref().is_some_and(is_later) {
                    true => Met::There,
                    false => Met::Not,
                }
            }
            Self::Unknown => Met::Not,
        }
    }

    /// Whether the cache of `informer` meets the demand on `object`.
    pub(super) fn is_met_in<K>(
        &mut self,
        caches: &impl Caches<K>,
        informer: usize,
        object: &K,
    ) -> Met {
        match caches.has(informer) {
            true => caches.look(informer, object, |view| self.is_met(view)),
            false => Met::There,
        }
    }

    /// Whether `change` meets the demand, or makes it void.
    pub(super) fn is_met_by(&self, change: CacheChange<'_>) -> Met {
        let is_met = match (self, change) {
            (
                Self::At {
                    uid,
                    version,
                    whole: false,
                    written,
                },
                CacheChange::Seen(seen, at),
            ) if is_at(at, version) => return one_of(uid.as_deref(), seen, *written),
            // The deletion has its own event, which leads to a reconcile.
            (
                Self::At {
                    uid, whole: false, ..
                },
                CacheChange::Deleted(gone),
            ) => uid.as_deref() == Some(gone),
            (Self::Gone { uid, .. }, CacheChange::Deleted(gone)) => **uid == *gone,
            _ => false,
        };
        if is_met { Met::There } else { Met::Not }
    }

    /// Accepts any version of the object from now on, if the demand has a version.
    pub(super) fn at_any_version(&mut self) -> bool {
        match self {
            Self::At { version, .. } => {
                *version = "0".into();
                true
            }
            Self::Gone { .. } | Self::Unknown => false,
        }
    }

    /// Combines an `earlier` demand and `self` on the same object.
    pub(super) fn after(self, earlier: &Self) -> Self {
        match (self, earlier) {
            // The answers of concurrent writes may come in any order.
            (
                Self::At {
                    uid,
                    version,
                    whole,
                    written,
                },
                Self::At {
                    uid: before,
                    version: earlier,
                    written: was_written,
                    ..
                },
            ) if uid == *before => {
                let is_older = compare(&version, earlier).is_some_and(Ordering::is_lt);
                Self::At {
                    uid,
                    version: if is_older { earlier.clone() } else { version },
                    whole,
                    written: written || *was_written,
                }
            }
            // A read tells neither whether a write will still be applied, nor that an object is back which was deleted.
            (Self::At { written: false, .. }, Self::Unknown) => Self::Unknown,
            (
                Self::At {
                    uid,
                    written: false,
                    ..
                },
                Self::Gone { uid: gone, .. },
            ) if uid.as_ref() == Some(gone) => earlier.clone(),
            (
                Self::Gone {
                    uid,
                    existed: None,
                    seen,
                },
                Self::At {
                    uid: before,
                    version,
                    ..
                },
            ) if before.as_ref() == Some(&uid) => Self::Gone {
                uid,
                existed: Some(version.clone()),
                seen,
            },
            (this, _) => this,
        }
    }

    /// Whether the demand stands for other objects too.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::At { whole: true, .. })
    }

    /// Whether the key wrote the object.
    pub(super) fn is_written(&self) -> bool {
        !matches!(self, Self::At { written: false, .. })
    }

    /// The version of a demand on the whole collection that can replace this demand.
    pub(super) fn foldable(&self) -> Option<&str> {
        match self {
            Self::At { version, .. } if is_number(version) => Some(version),
            _ => None,
        }
    }
}

/// Whether the demanded object exists, if an object of its name does. Of an object that was not `written` it does not matter.
fn one_of(asked: Option<&str>, held: Option<&str>, written: bool) -> Met {
    match (asked, held) {
        (Some(asked), Some(held)) if written && asked != held => Met::Missing,
        _ => Met::There,
    }
}

/// Whether an object at version `held` is at `version` or later. Versions that are not integers have no order: they must be
/// equal.
fn is_at(held: &str, version: &str) -> bool {
    match compare(held, version) {
        Some(order) => order.is_ge(),
        None => held == version,
    }
}

/// Compares two resource versions. Returns `None` if one is not an integer (KEP-5504).
pub(crate) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let both = is_number(one) && is_number(other);
    both.then(|| (one.len(), one).cmp(&(other.len(), other)))
}

fn is_number(version: &str) -> bool {
    !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit())
}
