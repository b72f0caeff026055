use crate::resource::{Object, Undecodable};

/// One event of a watch.
///
/// The server's `ERROR` event is not a variant. The stream returns it as an error.
#[expect(
    clippy::large_enum_variant,
    reason = "most kinds are larger than what is known of an undecodable object"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent<K> {
    /// The object was created, or began to match the selectors.
    Added(K),
    /// The object changed.
    Modified(K),
    /// The object was deleted, or no longer matches the selectors. This is its last state.
    Deleted(K),
    /// All changes up to this resource version were sent.
    Bookmark {
        /// The resource version from which the next watch can start.
        resource_version: String,
        /// Whether the initial state is now complete.
        initial_events_end: bool,
    },
    /// A change of an object that does not fit the type.
    Undecodable {
        /// What happened.
        change: Change,
        /// The readable parts of the object.
        object: Undecodable,
    },
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The object was created, or began to match.
    Added,
    /// The object changed.
    Modified,
    /// The object was deleted, or no longer matches.
    Deleted,
}

impl<K> WatchEvent<K> {
    /// The same event with the object that `f` returns.
    pub fn map<T>(self, f: impl FnOnce(K) -> T) -> WatchEvent<T> {
        match self {
            Self::Added(object) => WatchEvent::Added(f(object)),
            Self::Modified(object) => WatchEvent::Modified(f(object)),
            Self::Deleted(object) => WatchEvent::Deleted(f(object)),
            Self::Bookmark {
                resource_version,
                initial_events_end,
            } => WatchEvent::Bookmark {
                resource_version,
                initial_events_end,
            },
            Self::Undecodable { change, object } => WatchEvent::Undecodable { change, object },
        }
    }
}

impl<K: Object> WatchEvent<K> {
    /// The resource version after this event, from which the next watch can start.
    pub fn resource_version(&self) -> Option<&str> {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => {
                object.resource_version()
            }
            Self::Bookmark {
                resource_version, ..
            } => Some(resource_version),
            Self::Undecodable { object, .. } => object.resource_version.as_deref(),
        }
    }
}
