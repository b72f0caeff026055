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
    /// A small object, if the program reads each object of the cache.
    Decoded(Arc<K>),
    /// Any other object, and a small one that does not decode.
    Bytes(ObjectBytes),
}

impl<K: Object + DeserializeOwned> Received<K> {
    /// The object that the part is. The managed fields are left out unless they are `wanted`. A small object is decoded at once
    /// if `decodes_small`.
    ///
    /// # Errors
    /// As for [`ObjectBytes::read`].
    pub(super) fn read(
        part: Part<'_, '_>,
        resource: &ApiResource,
        wanted: bool,
        decodes_small: bool,
    ) -> Result<Self, Box<Undecodable>> {
        if decodes_small && is_small(part.format, part.bytes.len()) {
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
        decodes_small: bool,
    ) -> Result<Self, Box<Undecodable>> {
        let metadata = serde_json::to_vec(metadata).unwrap_or_default();
        let object = Json.object_of_metadata(&metadata);
        let object = Part::of_bytes(Format::Json, &object);
        Self::read(object, resource, true, decodes_small)
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

/// An object of at most so many bytes is small: of those that arrive, with the managed fields, or of those that are stored, without them.
pub(crate) const SMALL: usize = 1024;

/// Whether an object of so many bytes is small: it takes little more memory when it is decoded, and little time to decode it.
pub(super) fn is_small(format: Format, bytes: usize) -> bool {
    match format {
        // The same object takes half as many bytes.
        Format::Protobuf(_) => bytes <= SMALL / 2,
        _ => bytes <= SMALL,
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
