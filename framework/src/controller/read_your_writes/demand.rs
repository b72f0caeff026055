use std::{cmp::Ordering, fmt};

/// What one write asks of one informer's cache before its key may be reconciled again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    /// The object at this version, or anything later.
    At {
        uid: Option<Box<str>>,
        version: Box<str>,
        /// It stands for other objects too: only the collection's version answers it.
        whole: bool,
    },
    /// That this object is gone.
    Gone {
        uid: Box<str>,
        /// A version of the object: what is not in a collection at this version or later is gone.
        existed: Option<Box<str>>,
        /// The cache had it.
        seen: bool,
    },
    /// Whether the write was done is not known.
    Unknown,
}

/// Whether a cache has what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    Not,
    There,
    /// It is past it, and the object is not there, or another one of that name is: what was written is gone.
    Missing,
}

/// What a cache has of one object, and of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct View<'a> {
    pub(super) held: Option<Held<'a>>,
    /// Version of the collection.
    pub(super) collection: Option<&'a str>,
}

/// An object as a cache holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held<'a> {
    pub(super) uid: Option<&'a str>,
    pub(super) version: Option<&'a str>,
}

/// What happened to an object in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change<'a> {
    /// It is there, with this UID and version.
    Seen(Option<&'a str>, &'a str),
    /// The object with this UID is gone.
    Deleted(&'a str),
}

/// `at version 17`, for people.
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
    /// The object at `version`.
    pub(super) fn at(uid: Option<&str>, version: &str) -> Self {
        Self::At {
            uid: uid.map(Into::into),
            version: version.into(),
            whole: false,
        }
    }

    /// That the object `uid` is gone, of which a version that `existed` may be known, and which a
    /// cache `had` or not when the deletion was asked for.
    pub(super) fn gone(uid: &str, existed: Option<&str>, had: bool) -> Self {
        Self::Gone {
            uid: uid.into(),
            existed: existed.map(Into::into),
            seen: had,
        }
    }

    /// Whether the cache has what is asked for.
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
            } => {
                let held = view.held.filter(|_| !*whole);
                let later = held.filter(|held| held.version.is_some_and(|at| is_at(at, version)));
                match later {
                    Some(held) => one_of(uid.as_deref(), held.uid),
                    None if reached(version) => Met::Missing,
                    None => Met::Not,
                }
            }
            Self::Gone { uid, existed, seen } => {
                if view.held.is_some_and(|held| held.uid == Some(uid)) {
                    *seen = true;
                    return Met::Not;
                }
                // One of the same name that is there may be its successor, or its predecessor.
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

    /// Whether `change` is what is asked for, or what makes it void.
    pub(super) fn is_met_by(&self, change: Change<'_>) -> Met {
        let is_met = match (self, change) {
            (
                Self::At {
                    uid,
                    version,
                    whole: false,
                },
                Change::Seen(seen, at),
            ) if is_at(at, version) => return one_of(uid.as_deref(), seen),
            // Whoever cares hears of the deletion itself.
            (
                Self::At {
                    uid, whole: false, ..
                },
                Change::Deleted(gone),
            ) => uid.as_deref() == Some(gone),
            (Self::Gone { uid, .. }, Change::Deleted(gone)) => **uid == *gone,
            _ => false,
        };
        if is_met { Met::There } else { Met::Not }
    }

    /// Asks for the object at any version instead, if it can be at one.
    pub(super) fn at_any_version(&mut self) -> bool {
        match self {
            Self::At { version, .. } => {
                *version = "0".into();
                true
            }
            Self::Gone { .. } | Self::Unknown => false,
        }
    }

    /// What is asked for after `earlier` was and `self` is, of the same object.
    pub(super) fn after(self, earlier: &Self) -> Self {
        match (self, earlier) {
            // Answers of writes at the same time come in any order.
            (
                Self::At {
                    uid,
                    version,
                    whole,
                },
                Self::At {
                    uid: before,
                    version: newer,
                    ..
                },
            ) if uid == *before && compare(&version, newer).is_some_and(Ordering::is_lt) => {
                let version = newer.clone();
                Self::At {
                    uid,
                    version,
                    whole,
                }
            }
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

    /// Whether it stands for other objects too.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::At { whole: true, .. })
    }

    /// The version that the whole collection can be asked for instead.
    pub(super) fn foldable(&self) -> Option<&str> {
        match self {
            Self::At { version, .. } if is_number(version) => Some(version),
            _ => None,
        }
    }
}

/// Whether what was asked for is there, if an object of that name is.
fn one_of(asked: Option<&str>, held: Option<&str>) -> Met {
    match (asked, held) {
        (Some(asked), Some(held)) if asked != held => Met::Missing,
        _ => Met::There,
    }
}

/// Whether an object at version `held` is at `version` or later. What are not integers can only be
/// the same.
fn is_at(held: &str, version: &str) -> bool {
    match compare(held, version) {
        Some(order) => order.is_ge(),
        None => held == version,
    }
}

/// Which resource version is older, if they are integers (KEP-5504).
pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let both = is_number(one) && is_number(other);
    both.then(|| (one.len(), one).cmp(&(other.len(), other)))
}

fn is_number(version: &str) -> bool {
    !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit())
}
