use std::marker::PhantomData;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed},
};

use super::{reason::with_path, skip::SkipManagedFields};
use crate::{
    client::{
        Deleted,
        codec::{Codec, Encoded, Json, with_codec},
    },
    resource::Status,
};

/// One object.
pub(crate) fn decode_object<K: DeserializeOwned>(
    body: &Encoded,
    managed_fields: bool,
) -> Result<K, String> {
    with_codec!(body.encoding, codec => object(codec, &body.bytes, managed_fields)
        .map_err(|_| why::<K>(codec, &body.bytes, managed_fields)))
}

/// Anything that is JSON and has no managed fields.
pub(crate) fn decode_plain<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    Json.read_owned(body)
        .map_err(|_| why::<T>(Json, body, true))
}

/// The server's error.
pub(crate) fn decode_status(body: &Encoded) -> Result<Status, String> {
    with_codec!(body.encoding, codec => codec.read_owned(&body.bytes))
}

/// The answer to a deletion: a `Status` or the object.
pub(crate) fn decode_deleted<K: DeserializeOwned>(
    body: &Encoded,
    managed_fields: bool,
) -> Result<Deleted<K>, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Types {
        #[serde(default)]
        api_version: String,
        #[serde(default)]
        kind: String,
    }
    let types: Types = decode_object(body, true)?;
    if types.api_version == "v1" && types.kind == "Status" {
        return decode_object(body, true).map(|status| Deleted::Done(Box::new(status)));
    }
    decode_object(body, managed_fields).map(|object| Deleted::Deleting(Box::new(object)))
}

pub(super) fn object<C: Codec, K: DeserializeOwned>(
    codec: C,
    body: &[u8],
    managed_fields: bool,
) -> Result<K, String> {
    codec.read(body, ItemSeed::new(managed_fields))
}

/// One object, alone or within a list or an event.
pub(super) struct ItemSeed<K> {
    managed_fields: bool,
    kind: PhantomData<K>,
}

impl<K> ItemSeed<K> {
    pub(super) fn new(managed_fields: bool) -> Self {
        Self {
            managed_fields,
            kind: PhantomData,
        }
    }
}

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for ItemSeed<K> {
    type Value = K;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K, D::Error> {
        if self.managed_fields {
            K::deserialize(deserializer)
        } else {
            K::deserialize(SkipManagedFields::new(deserializer))
        }
    }
}

/// Why `body` does not decode, with the path: read once more, with its cost, because it is rare.
pub(super) fn why<K: DeserializeOwned>(
    codec: impl Codec,
    body: &[u8],
    managed_fields: bool,
) -> String {
    let mut track = serde_path_to_error::Track::new();
    let tracked = Tracked {
        seed: ItemSeed::<K>::new(managed_fields),
        track: &mut track,
    };
    match codec.read(body, tracked) {
        Err(reason) => with_path(&track.path(), reason),
        Ok(_) => "it decodes on a second attempt: the type's decoding is not deterministic".into(),
    }
}

/// Notes the path of the place that is being read.
struct Tracked<'a, S> {
    seed: S,
    track: &'a mut serde_path_to_error::Track,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Tracked<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = serde_path_to_error::Deserializer::new(deserializer, self.track);
        self.seed.deserialize(deserializer)
    }
}
