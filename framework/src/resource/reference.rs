use std::fmt;

use super::{ApiResource, ObjectKey, Resource};

/// A reference to one object in the cluster, of any kind.
///
/// With a UID it refers to this object only. Without one it refers to whichever object has the name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// The kind.
    pub resource: ApiResource,
    /// Namespace and name.
    pub key: ObjectKey,
    /// UID of the object; `None` for whichever object has the name.
    pub uid: Option<String>,
}

impl ObjectRef {
    /// A reference to the object with this key, whatever its UID.
    pub fn new(resource: ApiResource, key: ObjectKey) -> Self {
        Self {
            resource,
            key,
            uid: None,
        }
    }

    /// A reference to `object`, its UID included.
    pub fn of<K: Resource>(object: &K) -> Self {
        Self {
            resource: ApiResource::of::<K>(),
            key: object.key(),
            uid: object.uid().map(str::to_owned),
        }
    }
}

/// `Deployment default/web`.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource.kind, self.key)
    }
}
