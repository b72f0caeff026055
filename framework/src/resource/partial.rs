use std::{fmt, marker::PhantomData};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeStruct};

use super::{DynamicObject, Object, ObjectMeta, Resource};

/// The metadata of an object of kind `K` (`PartialObjectMetadata`).
///
/// An [`Api`](crate::client::Api) or an informer of this type asks the server for metadata only. For large kinds, such as
/// Secrets whose labels and owners are all that matters, this is a fraction of the bytes. If a server sends more, the
/// client skips it.
///
/// The object can be read, watched, patched and deleted. The client refuses `create` and `replace` before it sends
/// anything, because they would write an object without its content.
///
/// `PartialObject` without a parameter is for a kind known only at run time, with an [`ApiResource`](super::ApiResource).
///
/// ```
/// use pilothouse::{k8s::api::core::v1::Secret, resource::{ApiResource, Object, PartialObject}};
///
/// let secret: PartialObject<Secret> =
///     serde_json::from_str(r#"{"metadata": {"name": "tls"}, "data": {"key": "c2VjcmV0"}}"#)?;
/// assert_eq!(secret.name(), "tls");
/// assert_eq!(ApiResource::of::<PartialObject<Secret>>(), ApiResource::of::<Secret>());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub struct PartialObject<K = DynamicObject> {
    /// The metadata.
    pub metadata: ObjectMeta,
    kind: PhantomData<fn() -> K>,
}

impl<K> PartialObject<K> {
    /// An object with this metadata.
    pub fn new(metadata: ObjectMeta) -> Self {
        Self {
            metadata,
            kind: PhantomData,
        }
    }
}

impl<K> Clone for PartialObject<K> {
    fn clone(&self) -> Self {
        Self::new(self.metadata.clone())
    }
}

impl<K> Default for PartialObject<K> {
    fn default() -> Self {
        Self::new(ObjectMeta::default())
    }
}

impl<K> PartialEq for PartialObject<K> {
    fn eq(&self, other: &Self) -> bool {
        self.metadata == other.metadata
    }
}

impl<K> fmt::Debug for PartialObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut object = f.debug_struct("PartialObject");
        object.field("metadata", &self.metadata).finish()
    }
}

/// Writes the form that a server sends: `PartialObjectMetadata` of `meta.k8s.io/v1`.
impl<K> Serialize for PartialObject<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("PartialObjectMetadata", 3)?;
        object.serialize_field("apiVersion", "meta.k8s.io/v1")?;
        object.serialize_field("kind", "PartialObjectMetadata")?;
        object.serialize_field("metadata", &self.metadata)?;
        object.end()
    }
}

impl<'de, K> Deserialize<'de> for PartialObject<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct PartialObjectMetadata {
            #[serde(default)]
            metadata: ObjectMeta,
        }
        let object = PartialObjectMetadata::deserialize(deserializer)?;
        Ok(Self::new(object.metadata))
    }
}

impl<K: 'static> Object for PartialObject<K> {
    const METADATA_ONLY: bool = true;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl<K: Resource> Resource for PartialObject<K> {
    type Scope = K::Scope;
    const GROUP: &'static str = K::GROUP;
    const VERSION: &'static str = K::VERSION;
    const KIND: &'static str = K::KIND;
    const PLURAL: &'static str = K::PLURAL;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_metadata_is_read_and_written() {
        let text =
            r#"{"kind":"ConfigMap","data":{"a":1},"metadata":{"name":"x","labels":{"a":"b"}}}"#;
        let object: PartialObject = serde_json::from_str(text).unwrap();
        assert_eq!(
            serde_json::to_value(&object).unwrap(),
            serde_json::json!({
                "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
                "metadata": {"name": "x", "labels": {"a": "b"}},
            })
        );
    }
}
