//! Values that the `cel` crate does not name, and what all values have.

use std::sync::Arc;

use cel::Value;
use cel::objects::{Opaque, OptionalValue};

/// A type as a value, such as the result of `type(1)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeValue(pub(super) String);

impl Opaque for TypeValue {
    fn runtime_type_name(&self) -> &str {
        "type"
    }
}

/// The size of a value as costs count it: of a text in characters, and of everything that has no size 1.
pub(super) fn size(value: &Value) -> u64 {
    length(value).unwrap_or_else(|| match as_optional(value) {
        Some(Some(inner)) => size(inner),
        _ => super::network::size(value).unwrap_or(1),
    })
}

/// The result of `size()`.
pub(super) fn length(value: &Value) -> Option<u64> {
    Some(match value {
        Value::String(text) => text.chars().count() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        Value::List(items) => items.len() as u64,
        Value::Map(map) => map.map.len() as u64,
        _ => return None,
    })
}

/// The value of an optional value. Returns `None` if it is no optional value.
pub(super) fn as_optional(value: &Value) -> Option<Option<&Value>> {
    match value {
        Value::Opaque(opaque) => opaque
            .downcast_ref::<OptionalValue>()
            .map(OptionalValue::value),
        _ => None,
    }
}

/// `optional.of(value)`, or `optional.none()`.
pub(in crate::schema) fn optional(value: Option<Value>) -> Value {
    let optional = match value {
        Some(value) => OptionalValue::of(value),
        None => OptionalValue::none(),
    };
    Value::Opaque(Arc::new(optional))
}

/// The name of the type of a value.
pub(super) fn type_name(value: &Value) -> &str {
    match value {
        Value::List(_) => "list",
        Value::Map(_) | Value::Struct(_) => "map",
        Value::Function(..) => "function",
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Bool(_) => "bool",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Opaque(opaque) => opaque.runtime_type_name(),
        Value::Null => "null_type",
    }
}
