use super::Entry;
use crate::resource::{Object, Undecodable};

/// One step from the server's state to the cache's, in the order in which the server took it.
///
/// The store decides whether an object is new or changed, not the server's event.
pub enum Delta<K> {
    /// The object was added or modified.
    Set(Entry<K>),
    /// An object that is known not to decode was added or modified.
    SetUndecodable(Box<Undecodable>),
    /// The object was deleted; this is its final state.
    Deleted(Entry<K>),
    /// An object was deleted, and its final state does not decode.
    DeletedUndecodable(Box<Undecodable>),
    /// The server's resource versions went backwards: its state was restored, for example from a backup. Until the
    /// next list is complete, a known version of an object may have different content.
    Restored,
    /// A list begins. A list may begin again before it ended; the cache then ignores the first attempt.
    ListStarted,
    /// A list is complete: the objects that it did not contain are gone.
    ListEnded {
        /// Resource version of the list.
        resource_version: String,
    },
    /// Nothing happened up to this version.
    Bookmark {
        /// Resource version of the collection.
        resource_version: String,
    },
}

impl<K: Object> Delta<K> {
    /// The resource version of the collection after this step. Returns `None` if the step does not tell it.
    pub(crate) fn resource_version(&self) -> Option<&str> {
        match self {
            Self::Set(object) | Self::Deleted(object) => object.resource_version(),
            Self::SetUndecodable(object) | Self::DeletedUndecodable(object) => {
                object.resource_version.as_deref()
            }
            Self::Restored | Self::ListStarted => None,
            Self::ListEnded { resource_version } | Self::Bookmark { resource_version } => {
                Some(resource_version)
            }
        }
    }
}
