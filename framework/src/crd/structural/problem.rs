use serde_json::{Map, Value};

/// Why a schema cannot be structural, and where.
#[derive(Debug)]
pub(in crate::crd) struct SchemaProblem {
    pub(in crate::crd) path: String,
    pub(in crate::crd) text: String,
}

impl SchemaProblem {
    pub(super) fn new(path: &str, text: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            text: text.into(),
        }
    }
}

pub(super) const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
/// The mark of a place that is rewritten already, because a variant has it.
pub(in crate::crd) const REWRITTEN: &str = "x-pilothouse-rewritten";
pub(super) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Whether the schema has the key with the value `true`.
pub(super) fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key) == Some(&Value::Bool(true))
}
