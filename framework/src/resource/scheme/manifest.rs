use std::{any::Any, fmt};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::resource::{Object, ObjectKey, ObjectMeta, TypeMeta};

/// An object read from a manifest.
pub struct Manifest {
    /// Which document it stands in, counted from 1.
    pub document: usize,
    /// The line it begins at, counted from 1.
    pub line: usize,
    /// `apiVersion` and `kind` as they were written.
    pub types: TypeMeta,
    pub(super) object: Box<dyn AnyObject>,
}

/// An object whose type is not known here.
pub(super) trait AnyObject: Any + Send + Sync {
    fn metadata(&self) -> &ObjectMeta;
    fn json(&self) -> Result<Value, serde_json::Error>;
}

impl<K: Object + Serialize> AnyObject for K {
    fn metadata(&self) -> &ObjectMeta {
        Object::metadata(self)
    }

    fn json(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }
}

impl Manifest {
    /// The object's metadata.
    pub fn metadata(&self) -> &ObjectMeta {
        self.object.metadata()
    }

    /// Its name, and its namespace if it has one.
    pub fn key(&self) -> ObjectKey {
        let metadata = self.metadata();
        let namespace = metadata.namespace.as_deref();
        ObjectKey::new(namespace, metadata.name.as_deref().unwrap_or_default())
    }

    /// The object, if it is one of `K`. Kinds that the scheme was not given the type of are
    /// [`DynamicObject`](crate::resource::DynamicObject)s.
    pub fn get<K: Object>(&self) -> Option<&K> {
        let object: &dyn Any = &*self.object;
        object.downcast_ref()
    }

    /// The object itself, if it is one of `K`; see [`get`](Self::get).
    pub fn downcast<K: Object>(self) -> Option<K> {
        let object: Box<dyn Any> = self.object;
        object.downcast().ok().map(|object| *object)
    }
}

/// As the object is written.
impl Serialize for Manifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = self.object.json().map_err(serde::ser::Error::custom)?;
        json.serialize(serializer)
    }
}

/// Shows what it is, not what is in it.
impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TypeMeta { api_version, kind } = &self.types;
        write!(f, "Manifest({kind} {} in {api_version})", self.key())
    }
}
