use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::resource::{ApiResource, ObjectKey, Resource};

/// A write that a reconciler sent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sent {
    /// `apply`, `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// API group; `""` is the core group.
    pub group: String,
    /// Plural of the kind.
    pub plural: String,
    /// The object. The name is empty if the server has to generate it.
    pub key: ObjectKey,
    /// The subresource, if the request was for one.
    pub subresource: Option<String>,
    /// The body; `null` if the request had none.
    pub body: Value,
}

impl Sent {
    /// The body as an object of kind `K`. Returns `None` for another kind, a patch or a subresource.
    pub fn object<K: Resource>(&self) -> Option<K> {
        self.object_of(&ApiResource::of::<K>())
    }

    /// As [`object`](Self::object), for a kind that is known only at run time.
    pub fn object_of<C: DeserializeOwned>(&self, resource: &ApiResource) -> Option<C> {
        let whole = matches!(self.verb, "apply" | "create" | "update");
        let is_it = self.group == resource.group && self.plural == resource.plural;
        if !whole || !is_it || self.subresource.is_some() {
            return None;
        }
        serde_json::from_value(self.body.clone()).ok()
    }
}
