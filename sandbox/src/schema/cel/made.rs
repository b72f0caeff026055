//! Objects and JSON patches that the expressions of mutating policies make, such as `Object.spec{replicas: 3}`.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cel::Value;
use cel::objects::{Key, Opaque};
use serde_json::{Map, Value as Json};

use super::types::Type;
use crate::stack;

/// The name of the type of a whole object. Its parts have the names of their fields behind it.
pub(super) const OBJECT: &str = "Object";
/// The name of the type of an operation of a JSON patch.
pub(super) const PATCH: &str = "JSONPatch";

/// A type that only expressions of mutating policies have.
pub(super) fn type_named(name: &str) -> Option<Type> {
    let is_object = name == OBJECT || name.starts_with("Object.");
    (is_object || name == PATCH).then(|| Type::Patched(name.into()))
}

/// The type of a field. Returns `None` if there is no such field.
pub(super) fn field_type(of: &str, field: &str) -> Option<Type> {
    match (of == PATCH, field) {
        (false, _) | (true, "value") => Some(Type::Dyn),
        (true, "op" | "path" | "from") => Some(Type::String),
        (true, _) => None,
    }
}

/// A made object.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MadeObject {
    pub(super) name: String,
    pub(super) fields: BTreeMap<String, Value>,
}

impl Eq for MadeObject {}

impl Opaque for MadeObject {
    fn runtime_type_name(&self) -> &str {
        &self.name
    }
}

impl MadeObject {
    pub(super) fn of(value: &Value) -> Option<&Self> {
        match value {
            Value::Opaque(opaque) => opaque.downcast_ref(),
            _ => None,
        }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Opaque(Arc::new(self))
    }
}

/// The result of an expression of a mutating policy, as JSON: an object, or the operations of a JSON patch.
///
/// # Errors
/// The reason why it is no JSON: an object has the type of another place, or a value has no form in JSON.
pub(crate) fn to_json(value: &Value) -> Result<Json, String> {
    stack::large(|| {
        measure(value, &mut MOST_VALUES.clone())?;
        let mut wrong = Vec::new();
        match value {
            Value::List(operations) => {
                let values = operations.iter().filter_map(MadeObject::of);
                for value in values.filter_map(|operation| operation.fields.get("value")) {
                    if let Some(object) = MadeObject::of(value) {
                        check_names(value, &object.name, &mut wrong);
                    }
                }
            }
            whole => check_names(whole, OBJECT, &mut wrong),
        }
        match wrong.is_empty() {
            true => json(value),
            false => Err(format!("type mismatch: {}", wrong.join("\n"))),
        }
    })
}

/// The most values and 16ths of the bytes of texts in a result. An expression shares values, so that ten of ten of ten … cost it nothing.
const MOST_VALUES: usize = 1_000_000;

/// Takes the size of a value from what is `left`.
fn measure(value: &Value, left: &mut usize) -> Result<(), String> {
    let size = match value {
        Value::String(text) => 1 + text.len() / 16,
        Value::Bytes(bytes) => 1 + bytes.len() / 16,
        _ => 1,
    };
    *left = left.checked_sub(size).ok_or("the result is too large")?;
    match value {
        Value::List(items) => items.iter().try_for_each(|item| measure(item, left)),
        Value::Map(map) => map.map.values().try_for_each(|value| measure(value, left)),
        other => match MadeObject::of(other) {
            Some(object) => object
                .fields
                .values()
                .try_for_each(|value| measure(value, left)),
            None => Ok(()),
        },
    }
}

/// Checks that the types of objects are named after the fields in which they are.
fn check_names(value: &Value, expected: &str, wrong: &mut Vec<String>) {
    match value {
        Value::List(items) => items
            .iter()
            .for_each(|item| check_names(item, expected, wrong)),
        Value::Map(map) => map
            .map
            .values()
            .for_each(|value| check_names(value, expected, wrong)),
        other => {
            let Some(object) = MadeObject::of(other) else {
                return;
            };
            if object.name != expected {
                wrong.push(format!(
                    "unexpected type name {:?}, expected {expected:?}, which matches field name path from root Object type",
                    object.name
                ));
            }
            for (field, value) in &object.fields {
                check_names(value, &format!("{expected}.{field}"), wrong);
            }
        }
    }
}

fn json(value: &Value) -> Result<Json, String> {
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(number) => (*number).into(),
        Value::UInt(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::String(text) => text.as_str().into(),
        Value::Bytes(bytes) => STANDARD.encode(&**bytes).into(),
        Value::Duration(duration) => {
            let seconds = duration.num_milliseconds() as f64 / 1000.0;
            format!("{seconds}s").into()
        }
        Value::Timestamp(time) => time.to_rfc3339().replace("+00:00", "Z").into(),
        Value::List(items) => Json::Array(items.iter().map(json).collect::<Result<_, _>>()?),
        Value::Map(map) => {
            let mut fields = Map::new();
            for (key, value) in &*map.map {
                let Key::String(key) = key else {
                    return Err(format!("map key {key} is not a string"));
                };
                fields.insert(key.to_string(), json(value)?);
            }
            Json::Object(fields)
        }
        other => match MadeObject::of(other) {
            Some(object) => {
                let fields = object.fields.iter();
                let fields = fields.map(|(name, value)| Ok((name.clone(), json(value)?)));
                Json::Object(fields.collect::<Result<_, String>>()?)
            }
            None => {
                let name = super::values::type_name(other);
                return Err(format!(
                    "a value of type {name} cannot be converted to JSON"
                ));
            }
        },
    })
}
