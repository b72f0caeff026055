use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use crate::client::codec::{Encoding, Unwritable};

/// A change to an object, in one of the four forms that the API server accepts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Patch {
    /// Server-side apply: the fields that this field manager wants, with `apiVersion` and `kind`. Creates the object if
    /// it does not exist.
    Apply(Value),
    /// Merge patch (RFC 7396).
    Merge(Value),
    /// Strategic merge patch: a merge patch that knows how to merge the lists of built-in kinds. The server refuses it
    /// for custom resources.
    Strategic(Value),
    /// JSON patch (RFC 6902): the list of operations.
    Json(Vec<Value>),
    /// Server-side apply with a body that is JSON already.
    ApplyBytes(Bytes),
}

impl Patch {
    /// A server-side apply of `object`.
    ///
    /// The object must have `apiVersion`, `kind` and `metadata.name`. It must not have `metadata.managedFields`.
    ///
    /// # Errors
    /// `object` cannot be written as JSON.
    pub fn apply<T: Serialize + ?Sized>(object: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(object).map(|bytes| Self::ApplyBytes(bytes.into()))
    }

    pub(in crate::client) fn is_apply(&self) -> bool {
        matches!(self, Self::Apply(_) | Self::ApplyBytes(_))
    }

    /// The body and its media type: an apply in `encoding`, the other forms as JSON.
    pub(in crate::client) fn body(
        &self,
        encoding: Encoding,
    ) -> Result<(&'static str, Bytes), Unwritable> {
        let json = |media_type, value: &Value| Ok((media_type, Encoding::Json.write(value)?));
        match self {
            Self::Apply(value) => {
                let (encoding, media_type) = apply(encoding);
                Ok((media_type, encoding.write(value)?))
            }
            Self::ApplyBytes(bytes) => match apply(encoding) {
                (Encoding::Json, media_type) => Ok((media_type, bytes.clone())),
                (other, media_type) => {
                    let value: Value = serde_json::from_slice(bytes).map_err(|_| Unwritable)?;
                    Ok((media_type, other.write(&value)?))
                }
            },
            Self::Merge(value) => json("application/merge-patch+json", value),
            Self::Strategic(value) => json("application/strategic-merge-patch+json", value),
            Self::Json(operations) => Ok((
                "application/json-patch+json",
                Encoding::Json.write(operations)?,
            )),
        }
    }
}

/// The encoding of an apply, and its media type.
fn apply(encoding: Encoding) -> (Encoding, &'static str) {
    match encoding.apply_media_type() {
        Some(media_type) => (encoding, media_type),
        // Every JSON document is a YAML document.
        None => (Encoding::Json, "application/apply-patch+yaml"),
    }
}
