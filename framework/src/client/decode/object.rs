use std::{marker::PhantomData, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed},
};

use super::{skip::SkipManagedFields, span};
use crate::{
    client::{
        Deleted,
        codec::{Codec, Encoded, Encoding, Json, Part, with_codec},
    },
    resource::Status,
};

/// Decodes one object.
pub(crate) fn decode_object<K: DeserializeOwned>(
    body: &Encoded,
    managed_fields: bool,
) -> Result<K, String> {
    let _span = span::entered("object", body);
    let whole = Part::of_bytes(body.encoding.into(), &body.bytes);
    whole.read(ItemSeed::new(managed_fields))
}

/// Decodes anything that is JSON and has no managed fields.
pub(crate) fn decode_plain<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, String> {
    let _span = span::of_bytes("document", Encoding::Json, body);
    Json.read(body, PhantomData::<T>)
}

/// Decodes anything, in any encoding. Managed fields stay.
pub(crate) fn decode_any<T: DeserializeOwned>(body: &Encoded) -> Result<T, String> {
    let _span = span::entered("document", body);
    with_codec!(body.encoding, codec => codec.read_owned(&body.bytes))
}

/// Decodes the server's error.
pub(crate) fn decode_status(body: &Encoded) -> Result<Status, String> {
    with_codec!(body.encoding, codec => codec.read_owned(&body.bytes))
}

/// Decodes the answer to a deletion: a `Status` or the object.
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
        K::deserialize(SkipManagedFields::new(deserializer, self.managed_fields))
    }
}

/// Decodes an object directly into an `Arc`, so that it is never copied.
pub(crate) struct DecodedArc<K>(pub(crate) Arc<K>);

impl<'de, K: Deserialize<'de>> Deserialize<'de> for DecodedArc<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Arc::new(K::deserialize(deserializer)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::decode_plain;
    use serde::Deserialize;

    #[derive(Deserialize, Debug)]
    #[allow(dead_code)]
    struct Probe {
        number: Option<i32>,
        choice: Option<Choice>,
        own: Option<Own>,
        pair: Option<(u8, u8)>,
    }

    #[derive(Deserialize, Debug)]
    enum Choice {
        Left,
        Right,
    }

    #[derive(Debug)]
    struct Own;

    impl<'de> Deserialize<'de> for Own {
        fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
            let text = String::deserialize(d)?;
            Err(serde::de::Error::custom(format!("what is {text}?")))
        }
    }

    #[test]
    fn a_reason_names_the_expected_type_and_never_the_value() {
        let table = [
            (
                r#"{"number":"hunter2, expected x"}"#,
                "number: expected i32, found a string",
            ),
            (
                r#"{"number":77.5}"#,
                "number: expected i32, found a floating point number",
            ),
            (r#"{"number":[]}"#, "number: expected i32, found a list"),
            (
                r#"{"choice":"hunter2"}"#,
                "choice: expected `Left` or `Right`",
            ),
            (
                r#"{"own":"hunter2"}"#,
                "own: the value does not fit its type",
            ),
            (r#"{"pair":[1]}"#, "pair: expected a tuple of size 2"),
            (r#"["hunter2"]"#, "expected struct Probe, found a list"),
            (r#"{"number":1"#, "the JSON ends too early"),
        ];
        for (text, expected) in table {
            let reason = decode_plain::<Probe>(text.as_bytes()).unwrap_err();
            assert_eq!(reason, expected);
        }
    }
}
