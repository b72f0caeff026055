use k8s_openapi::api::core::v1::ObjectReference;

use crate::resource::{ObjectKey, ObjectRef, Resource};

/// The object of an event. The resource version is not part of it, so that an event about the next
/// version belongs to the same series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Target {
    api_version: String,
    kind: String,
    key: ObjectKey,
    uid: Option<String>,
}

impl Target {
    pub(super) fn of<K: Resource>(object: &K) -> Self {
        Self::from_ref(&ObjectRef::of(object))
    }

    pub(super) fn from_ref(object: &ObjectRef) -> Self {
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

    /// The namespace of the object's Events: the object's namespace, or `default` for a cluster-scoped
    /// object.
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
