use crate::resource::{Object, Undecodable};

/// One line of a watch.
///
/// The server's `ERROR` event is not here: it comes out of the stream as an error.
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
    /// The object was deleted, or no longer matches; this is its last state.
    Deleted(K),
    /// Nothing happened up to this version.
    Bookmark {
        /// Where a next watch may begin.
        resource_version: String,
        /// Whether the initial state is complete now.
        initial_events_end: bool,
    },
    /// Something happened to an object that does not fit the type.
    Undecodable {
        /// What happened.
        change: Change,
        /// What could be read of the object.
        object: Undecodable,
    },
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It was created, or began to match.
    Added,
    /// It changed.
    Modified,
    /// It was deleted, or no longer matches.
    Deleted,
}

impl<K> WatchEvent<K> {
    /// The same event of what `f` makes of its object.
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
    /// The resource version after this event, where a next watch may begin.
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
