use k8s_openapi::api::core::v1::ObjectReference;

use crate::resource::{ObjectKey, ObjectRef, Resource};

/// Which object an event is about. Of which version it was is left out: what happens to the next version is
/// one more of the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Target {
    api_version: String,
    kind: String,
    key: ObjectKey,
    uid: Option<String>,
}

impl Target {
    pub(super) fn of<K: Resource>(object: &K) -> Self {
        Self::named(&ObjectRef::of(object))
    }

    pub(super) fn named(object: &ObjectRef) -> Self {
        Self {
            api_version: object.resource.api_version(),
            kind: object.resource.kind.to_string(),
            key: object.key.clone(),
            uid: object.uid.clone(),
        }
    }

    pub(super) fn name(&self) -> &str {
        self.key.name()
    }

    /// The namespace of its Events: that of the object, `default` where it has none.
    pub(super) fn events_namespace(&self) -> &str {
        self.key.namespace().unwrap_or("default")
    }

    pub(super) fn reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: Some(self.api_version.clone()),
            kind: Some(self.kind.clone()),
            namespace: self.key.namespace().map(str::to_owned),
            name: Some(self.name().to_owned()),
            uid: self.uid.clone(),
            ..ObjectReference::default()
        }
    }
}
