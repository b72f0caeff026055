use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::{
    object::{DecodedArc, ItemSeed},
    object_bytes::ObjectBytes,
    types::Types,
};
use crate::{
    client::codec::{Codec, Format, Json, Part},
    resource::{ApiResource, Object, ObjectMeta, TypeMeta, Undecodable},
};

/// An object that a cache has received, in the form in which it stores it.
pub(crate) enum Received<K> {
    /// A small object. To decode it costs little more than to read the fields that a cache needs, and it takes about 1 KB more
    /// memory than its bytes.
    Decoded(Arc<K>),
    /// Any other object, and a small one that does not decode.
    Bytes(ObjectBytes),
}

impl<K: Object + DeserializeOwned> Received<K> {
    /// An object with so many bytes is small, its managed fields included.
    pub(crate) const SMALL: usize = 1024;
    /// The same objects take half as many bytes in protobuf.
    const SMALL_IN_PROTOBUF: usize = Self::SMALL / 2;

    /// The object that the part is. The managed fields are left out unless they are `wanted`.
    ///
    /// # Errors
    /// As for [`ObjectBytes::read`].
    pub(super) fn read(
        part: Part<'_, '_>,
        resource: &ApiResource,
        wanted: bool,
    ) -> Result<Self, Box<Undecodable>> {
        let small = match part.format {
            Format::Protobuf(_) => Self::SMALL_IN_PROTOBUF,
            _ => Self::SMALL,
        };
        if part.bytes.len() <= small {
            // The other form reports the error, as it does for a large object.
            if let Ok(object) = decode(part, resource, wanted) {
                return Ok(Self::Decoded(object));
            }
        }
        ObjectBytes::read(part, resource, wanted).map(Self::Bytes)
    }

    /// The object that has these metadata and nothing else.
    ///
    /// # Errors
    /// As for [`ObjectBytes::read`].
    pub(crate) fn of_metadata(
        metadata: &ObjectMeta,
        resource: &ApiResource,
    ) -> Result<Self, Box<Undecodable>> {
        let metadata = serde_json::to_vec(metadata).unwrap_or_default();
        let object = Json.object_of_metadata(&metadata);
        Self::read(Part::of_bytes(Format::Json, &object), resource, true)
    }

    /// Whether the object has a name.
    pub(super) fn is_named(&self) -> bool {
        let name = match self {
            Self::Decoded(object) => object.name(),
            Self::Bytes(bytes) => bytes.key().name(),
        };
        !name.is_empty()
    }

    /// `metadata.namespace`
    pub(crate) fn namespace(&self) -> Option<&str> {
        match self {
            Self::Decoded(object) => object.namespace(),
            Self::Bytes(bytes) => bytes.key().namespace(),
        }
    }
}

/// Decodes an object of a collection of `resource`.
///
/// # Errors
/// The reason, which names a path and never a value.
pub(super) fn decode<K: Object + DeserializeOwned>(
    part: Part<'_, '_>,
    resource: &ApiResource,
    managed_fields: bool,
) -> Result<Arc<K>, String> {
    let DecodedArc(mut decoded) = part.read(ItemSeed::<DecodedArc<K>>::new(managed_fields))?;
    if let Some(TypeMeta { api_version, kind }) = decoded.types() {
        Types { api_version, kind }.check_object(resource, false)?;
    }
    // No other code has this `Arc` yet.
    if let Some(decoded) = Arc::get_mut(&mut decoded) {
        decoded.fill_types(resource);
    }
    Ok(decoded)
}
