use std::{any::Any, fmt};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{ConversionError, Scheme, conversions::Version, document::Document};
use crate::resource::{
    ApiResource, Object, ObjectKey, ObjectMeta, PathStep, Resource, TypeMeta, parse_path,
};

/// An object read from a manifest.
pub struct Manifest {
    /// Number of the document that holds it, counted from 1.
    pub document: usize,
    /// Line on which it begins, counted from 1.
    pub line: usize,
    /// `apiVersion` and `kind` as they are written in the document.
    pub types: TypeMeta,
    /// Where the object is in the document: empty, or an item of a list.
    pub(super) path: Vec<PathStep>,
    pub(super) object: Box<dyn AnyObject>,
}

/// An object of a type that only the caller knows.
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

    /// The object's name, and its namespace if it has one.
    pub fn key(&self) -> ObjectKey {
        let metadata = self.metadata();
        let namespace = metadata.namespace.as_deref();
        ObjectKey::new(namespace, metadata.name.as_deref().unwrap_or_default())
    }

    /// The line of a field of the object, such as `spec.pages[0]`, counted from 1 in the text that the manifest was read from. A field that the text does
    /// not have has the line of the innermost value around it.
    pub fn line_of(&self, text: &str, field: &str) -> usize {
        let is_counted = |one: &Document<'_>| !matches!(one.parse(false), Ok(Value::Null));
        let mut documents = Document::split(text).into_iter().filter(is_counted);
        let document = self.document.checked_sub(1);
        let document = document.and_then(|before| documents.nth(before));
        let path = [self.path.clone(), parse_path(field)].concat();
        document.map_or(self.line, |document| document.line_of(&path))
    }

    /// The object, if it is of type `K`. Otherwise returns `None`.
    ///
    /// Objects of kinds whose type the scheme does not have are [`DynamicObject`](crate::resource::DynamicObject)s.
    pub fn get<K: Object>(&self) -> Option<&K> {
        let object: &dyn Any = &*self.object;
        object.downcast_ref()
    }

    /// As [`get`](Self::get), but takes the object out of the manifest.
    pub fn downcast<K: Object>(self) -> Option<K> {
        let object: Box<dyn Any> = self.object;
        object.downcast().ok().map(|object| *object)
    }

    /// The object as a `K`, whichever registered version of the kind the manifest has; see [`Scheme::convert`].
    ///
    /// # Errors
    ///
    /// Returns a [`ConversionError`] if it is of another kind, or cannot be converted.
    pub fn convert<K: Resource>(self, scheme: &Scheme) -> Result<K, ConversionError> {
        let key = self.key();
        let TypeMeta { api_version, kind } = self.types;
        let (group, version) = match api_version.split_once('/') {
            Some((group, version)) => (group.to_owned(), version.to_owned()),
            None => (String::new(), api_version),
        };
        let object: Box<dyn Any> = self.object;
        let version = Version {
            type_id: (*object).type_id(),
            resource: ApiResource {
                group: group.into(),
                version: version.into(),
                kind: kind.into(),
                ..ApiResource::of::<K>()
            },
        };
        scheme.convert_any(object, key, &version)
    }
}

/// Writes the object.
impl Serialize for Manifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = self.object.json().map_err(serde::ser::Error::custom)?;
        json.serialize(serializer)
    }
}

/// Shows kind and key. It leaves out the content, which may be a Secret's.
impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TypeMeta { api_version, kind } = &self.types;
        write!(f, "Manifest({kind} {} in {api_version})", self.key())
    }
}

/// What is wrong in a manifest, and where: `document 2, line 10: spec.replicas: expected i32, found a string`.
///
/// It names the path and the expected type, never a value, because a manifest may hold a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestError {
    /// Number of the document, counted from 1. Empty documents are not counted.
    pub document: usize,
    /// Line in the whole text, counted from 1.
    pub line: usize,
    /// Path in the document, such as `items[1].spec.replicas`; empty for the whole document.
    pub path: String,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "document {}, line {}: ", self.document, self.line)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for ManifestError {}
