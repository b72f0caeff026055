use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use crate::client::codec::{Encoding, Unwritable};

/// A change to an object, in one of the four forms that the API server takes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Patch {
    /// Server-side apply: the fields this manager wants, `apiVersion` and `kind` included. Creates
    /// the object if it is not there.
    Apply(Value),
    /// Merge patch (RFC 7396).
    Merge(Value),
    /// Strategic merge patch: a merge patch that knows the built-in kinds' lists; the server
    /// refuses it for custom resources.
    Strategic(Value),
    /// JSON patch (RFC 6902): the list of operations.
    Json(Vec<Value>),
    /// Server-side apply of a body that is JSON already.
    ApplyBytes(Bytes),
}

impl Patch {
    /// A server-side apply of `object`.
    ///
    /// `apiVersion`, `kind` and `metadata.name` must be in it; `metadata.managedFields` must not.
    ///
    /// # Errors
    /// When `object` cannot be written as JSON.
    pub fn apply<T: Serialize + ?Sized>(object: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(object).map(|bytes| Self::ApplyBytes(bytes.into()))
    }

    pub(in crate::client) fn is_apply(&self) -> bool {
        matches!(self, Self::Apply(_) | Self::ApplyBytes(_))
    }

    /// The body and its media type: an apply in `encoding`, the other forms in the only one they have.
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
                #[cfg(any(feature = "cbor", test))]
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

/// What an apply is written in, and its media type.
fn apply(encoding: Encoding) -> (Encoding, &'static str) {
    match encoding.apply_media_type() {
        Some(media_type) => (encoding, media_type),
        // JSON is a part of YAML.
        None => (Encoding::Json, "application/apply-patch+yaml"),
    }
}
