//! Access to `metadata`.

use serde_json::{Map, Value};

pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    let field = object
        .get("metadata")
        .and_then(|metadata| metadata.get(field));
    field.and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, "uid")
}

pub(crate) fn resource_version(object: &Value) -> &str {
    text(object, "resourceVersion")
}

pub(crate) fn generation(object: &Value) -> Option<i64> {
    object
        .pointer("/metadata/generation")
        .and_then(Value::as_i64)
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    let finalizers = object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array);
    finalizers
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The mutable `metadata`. Creates it if it is missing or not an object. Returns `None` if `object` is not an object.
pub(crate) fn fields(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object
        .as_object_mut()?
        .entry("metadata")
        .or_insert_with(|| Map::new().into());
    if !metadata.is_object() {
        *metadata = Map::new().into();
    }
    metadata.as_object_mut()
}

pub(crate) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(metadata) = fields(object) {
        metadata.insert(field.into(), value.into());
    }
}

pub(crate) fn remove(object: &mut Value, field: &str) {
    if let Some(metadata) = fields(object) {
        metadata.remove(field);
    }
}

/// Removes empty lists and maps of `metadata`, which a server never writes.
pub(crate) fn drop_empty(object: &mut Value) {
    for field in ["finalizers", "ownerReferences", "labels", "annotations"] {
        let empty = match object
            .get("metadata")
            .and_then(|metadata| metadata.get(field))
        {
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Object(entries)) => entries.is_empty(),
            Some(Value::Null) => true,
            _ => false,
        };
        if empty {
            remove(object, field);
        }
    }
}

/// Copies a field of `metadata` from `from`, or removes it if `from` does not have it.
pub(crate) fn copy(object: &mut Value, from: &Value, field: &str) {
    match from
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
    {
        Some(value) => set(object, field, value.clone()),
        None => remove(object, field),
    }
}

pub(crate) fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    if finalizers.is_empty() {
        remove(object, "finalizers");
    } else {
        set(object, "finalizers", finalizers);
    }
}

/// Whether two states differ only in the times of their managed fields.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    if one == other {
        return true;
    }
    timeless(one) == timeless(other)
}

fn timeless(object: &Value) -> Value {
    let mut object = object.clone();
    let managers = object
        .pointer_mut("/metadata/managedFields")
        .and_then(Value::as_array_mut);
    for manager in managers.into_iter().flatten() {
        if let Some(fields) = manager.as_object_mut() {
            fields.remove("time");
        }
    }
    object
}

/// Copies a top-level field from `from`, or removes it if `from` does not have it.
pub(crate) fn copy_field(object: &mut Value, from: &Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        match from.get(field) {
            Some(value) => {
                fields.insert(field.into(), value.clone());
            }
            None => {
                fields.remove(field);
            }
        }
    }
}
