use std::{collections::BTreeMap, fmt};

use super::{ApiResource, ObjectKey, ObjectRef, OwnerReference};

/// An object that the server has and that does not fit the Rust type.
///
/// It counts as present (design promise R8): what could be read of it leniently is here, so that
/// caches keep its place and its owner can be told. The message names the path, never the value.
///
/// A field that the type does not have is never a reason, however deeply it is nested. A field that the type has is one
/// if it has more than 127 lists and maps within each other, counted from the object.
#[derive(Clone, PartialEq)]
pub struct Undecodable {
    /// The kind.
    pub resource: ApiResource,
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`, where it could be read.
    pub uid: Option<String>,
    /// `metadata.resourceVersion`, where it could be read.
    pub resource_version: Option<String>,
    /// `metadata.labels`, where they could be read.
    pub labels: BTreeMap<String, String>,
    /// `metadata.ownerReferences`, where they could be read.
    pub owner_references: Vec<OwnerReference>,
    /// Path of the field that does not fit, and what was expected there.
    pub reason: String,
}

impl Undecodable {
    /// The object.
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
