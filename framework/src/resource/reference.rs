use std::fmt;

use super::{ApiResource, ObjectKey, Resource};

/// One object of one kind in the cluster.
///
/// With a UID it names this incarnation of the object, without one whatever bears the name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// The kind.
    pub resource: ApiResource,
    /// Namespace and name.
    pub key: ObjectKey,
    /// UID of the incarnation that is meant, if only one is.
    pub uid: Option<String>,
}

impl ObjectRef {
    /// The object that bears `key`, whatever its UID.
    pub fn new(resource: ApiResource, key: ObjectKey) -> Self {
        Self {
            resource,
            key,
            uid: None,
        }
    }

    /// This very object, its UID included.
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
