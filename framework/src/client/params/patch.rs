use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

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

    pub(in crate::client) fn content_type(&self) -> &'static str {
        match self {
            Self::Apply(_) | Self::ApplyBytes(_) => "application/apply-patch+yaml",
            Self::Merge(_) => "application/merge-patch+json",
            Self::Strategic(_) => "application/strategic-merge-patch+json",
            Self::Json(_) => "application/json-patch+json",
        }
    }

    pub(in crate::client) fn is_apply(&self) -> bool {
        matches!(self, Self::Apply(_) | Self::ApplyBytes(_))
    }

    pub(in crate::client) fn body(&self) -> Result<Bytes, serde_json::Error> {
        match self {
            Self::Apply(value) | Self::Merge(value) | Self::Strategic(value) => {
                serde_json::to_vec(value).map(Bytes::from)
            }
            Self::Json(operations) => serde_json::to_vec(operations).map(Bytes::from),
            Self::ApplyBytes(bytes) => Ok(bytes.clone()),
        }
    }
}
