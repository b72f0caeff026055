use std::sync::Arc;

use crate::resource::{Object, Undecodable};

/// One step from the server's state to the cache's, in the order in which the server took it.
///
/// Whether an object is new or changed is for the store to say, not for the server's event.
pub enum Delta<K> {
    /// The object was added or modified.
    Set(Arc<K>),
    /// An object that does not decode was added or modified.
    SetUndecodable(Box<Undecodable>),
    /// The object is gone; this is its final state.
    Deleted(Arc<K>),
    /// An object is gone, and its final state does not decode.
    DeletedUndecodable(Box<Undecodable>),
    /// The server's versions went backwards: its state was put back, as from a backup. Until the next list is complete
    /// an object of a version that is known may have another content.
    Restored,
    /// A list begins. It may begin again before it ended: then the first one counts no more.
    ListStarted,
    /// A list is complete: what it did not hold is gone.
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
    /// The version that the collection has after it; `None` where that cannot be told.
    pub(super) fn resource_version(&self) -> Option<&str> {
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
