use std::{collections::BTreeMap, fmt};

use super::{ApiResource, ObjectKey, ObjectRef, OwnerReference};

/// An object on the server that does not fit the Rust type.
///
/// The object counts as present ([R8](crate#guarantees)). This value holds what could still be read of it, so that caches keep an entry for
/// it and the controller finds its owner. The message names the path, never the value.
///
/// A field that the type does not have never makes an object undecodable, however deeply it is nested. A field that the
/// type has does so if it has more than 127 nested lists and maps, counted from the object.
#[derive(Clone, PartialEq)]
pub struct Undecodable {
    /// The kind.
    pub resource: ApiResource,
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`; `None` if it could not be read.
    pub uid: Option<String>,
    /// `metadata.resourceVersion`; `None` if it could not be read.
    pub resource_version: Option<String>,
    /// `metadata.labels`; empty if they could not be read.
    pub labels: BTreeMap<String, String>,
    /// `metadata.ownerReferences`; empty if they could not be read.
    pub owner_references: Vec<OwnerReference>,
    /// Whether `metadata.deletionTimestamp` is set; `false` if it could not be read.
    pub is_deleting: bool,
    /// Path of the field that does not fit, and the type that was expected there.
    pub reason: String,
}

impl Undecodable {
    /// A reference to the object.
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            resource: self.resource.clone(),
            key: self.key.clone(),
            uid: self.uid.clone(),
        }
    }
}

/// `Website default/web (resource version 17) cannot be decoded: spec.replicas: expected i32`.
impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource.kind, self.key)?;
        if let Some(version) = &self.resource_version {
            write!(f, " (resource version {version})")?;
        }
        write!(f, " cannot be decoded: {}", self.reason)
    }
}

impl fmt::Debug for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Undecodable {}
