use super::{DynamicObject, Object, ObjectKey, decode_reason};

/// A field of a [`DynamicObject`] that does not fit the Rust type that it is [read as](DynamicObject::field).
///
/// The message names the path, never the value: `read Widget default/a: spec.size: expected i32, found a string`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read {kind} {key}: {path}: {reason}")]
#[non_exhaustive]
pub struct FieldError {
    /// Kind of the object.
    pub kind: String,
    /// The object.
    pub key: ObjectKey,
    /// Path of the field, such as `spec.pages[0]`.
    pub path: String,
    /// What was expected there.
    pub reason: String,
}

impl FieldError {
    /// `path` is the path within the field `name`, and `text` the message of serde.
    pub(super) fn new(
        object: &DynamicObject,
        name: &str,
        path: &serde_path_to_error::Path,
        text: &str,
    ) -> Self {
        let path = match path.iter().next() {
            None => name.to_owned(),
            Some(serde_path_to_error::Segment::Seq { .. }) => format!("{name}{path}"),
            Some(_) => format!("{name}.{path}"),
        };
        Self {
            kind: object.types.kind.clone(),
            key: object.key(),
            path,
            reason: decode_reason(text),
        }
    }
}
