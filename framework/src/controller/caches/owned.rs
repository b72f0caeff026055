use serde::Serialize;
use serde_json::Value;

use super::WiredCaches;
use crate::resource::{ApiResource, Object, ObjectKey, Selector};

/// A child that a cache has.
pub(crate) struct FoundChild {
    pub(crate) key: ObjectKey,
    pub(crate) resource_version: Option<String>,
    /// The object as JSON; `None` if the cache has only a part of it, or if it does not decode.
    pub(crate) whole: Option<Value>,
    /// Why it does not decode.
    pub(crate) undecodable: Option<String>,
}

/// Finds the children of the object with a UID among the objects of one kind.
pub(crate) type FindChildren = fn(&WiredCaches, &ApiResource, &str) -> Vec<FoundChild>;

/// The objects of a kind, read as `C`, that have an owner reference to the object with this UID, or this label with the UID.
///
/// It looks at each object of the kind for the label. Only people ask for it.
pub(crate) fn find_children<C: Object + Serialize>(
    caches: &WiredCaches,
    resource: &ApiResource,
    uid: &str,
    label: &str,
) -> Vec<FoundChild> {
    let Some(lister) = caches.get::<C>(resource) else {
        return Vec::new();
    };
    let owned = lister.by_owner(uid);
    let detached = lister.select(&Selector::default().eq(label, uid));
    let mut found: Vec<FoundChild> = Vec::new();
    for object in owned.items.iter().chain(&detached.items) {
        let whole = || serde_json::from_slice(&serde_json::to_vec(&**object).ok()?).ok();
        found.push(FoundChild {
            key: object.key(),
            resource_version: object.resource_version().map(str::to_owned),
            whole: if C::PARTIAL { None } else { whole() },
            undecodable: None,
        });
    }
    for object in &owned.undecodable {
        found.push(FoundChild {
            key: object.key.clone(),
            resource_version: object.resource_version.clone(),
            whole: None,
            undecodable: Some(object.reason.clone()),
        });
    }
    found.sort_by(|one, other| one.key.cmp(&other.key));
    found.dedup_by(|one, other| one.key == other.key);
    found
}
