use serde::{Deserialize, de::DeserializeOwned};

use super::{reason, skip::SkipManagedFields};
use crate::{client::Deleted, resource::Status};

/// One object.
pub(crate) fn decode_object<K: DeserializeOwned>(
    body: &[u8],
    managed_fields: bool,
) -> Result<K, String> {
    let text = utf8(body)?;
    object(text, managed_fields).map_err(|_| why::<K>(text, managed_fields))
}

/// Anything that has no managed fields.
pub(crate) fn decode_plain<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    decode_object(body, true)
}

/// The answer to a deletion: a `Status` or the object.
pub(crate) fn decode_deleted<K: DeserializeOwned>(
    body: &[u8],
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
    let types: Types = decode_plain(body)?;
    if types.api_version == "v1" && types.kind == "Status" {
        return decode_plain::<Status>(body).map(|status| Deleted::Done(Box::new(status)));
    }
    decode_object(body, managed_fields).map(|object| Deleted::Deleting(Box::new(object)))
}

pub(super) fn utf8(body: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(body).map_err(|_| "not UTF-8".to_owned())
}

pub(super) fn object<K: DeserializeOwned>(
    text: &str,
    managed_fields: bool,
) -> Result<K, serde_json::Error> {
    let mut inner = serde_json::Deserializer::from_str(text);
    let object = if managed_fields {
        K::deserialize(&mut inner)?
    } else {
        K::deserialize(SkipManagedFields::new(&mut inner))?
    };
    inner.end()?;
    Ok(object)
}

/// Why `text` does not decode, with the path: read once more, with its cost, because it is rare.
pub(super) fn why<K: DeserializeOwned>(text: &str, managed_fields: bool) -> String {
    let mut inner = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let inner_with_path = serde_path_to_error::Deserializer::new(&mut inner, &mut track);
    let outcome = if managed_fields {
        K::deserialize(inner_with_path)
    } else {
        K::deserialize(SkipManagedFields::new(inner_with_path))
    };
    match outcome.and_then(|_| inner.end()) {
        Err(error) => reason::reason(&track.path(), &error),
        Ok(()) => "it decodes on a second attempt: the type's decoding is not deterministic".into(),
    }
}
