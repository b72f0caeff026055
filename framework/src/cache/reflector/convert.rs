//! Converts the events of a watch to deltas.

use crate::{
    cache::{Delta, Entry},
    client::{Change, WatchEvent},
    resource::Object,
};

/// The delta of an event. Returns `None` if the object has no name, which no object of the API server lacks.
pub(in crate::cache) fn delta<K: Object>(
    event: WatchEvent<impl Into<Entry<K>>>,
) -> Option<Delta<K>> {
    Some(match event.map(Into::into) {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => {
            Delta::Set(has_name(&object).then_some(object)?)
        }
        WatchEvent::Deleted(object) => Delta::Deleted(has_name(&object).then_some(object)?),
        WatchEvent::Undecodable {
            change: Change::Deleted,
            object,
        } => Delta::DeletedUndecodable(Box::new(object)),
        WatchEvent::Undecodable { object, .. } => Delta::SetUndecodable(Box::new(object)),
        WatchEvent::Bookmark {
            resource_version, ..
        } => Delta::Bookmark { resource_version },
    })
}

pub(super) fn has_name<K: Object>(object: &Entry<K>) -> bool {
    object.with_name(|_, name| !name.is_empty())
}
