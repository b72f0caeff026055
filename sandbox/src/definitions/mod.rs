//! CustomResourceDefinitions: how they are checked, how they become kinds that are served, and how they end.
//!
//! Left out, and answered 501: conversion by webhook, and `selectableFields`.

mod check;
mod conditions;
mod controller;
mod kinds;
#[cfg(test)]
mod tests;

pub(crate) use check::{check, supported};
pub(crate) use controller::run;

use serde_json::{Map, Value, json};

use crate::registry::{GroupResource, ServedKind};

/// Whether this is the kind whose objects define others.
pub(crate) fn is_definition(kind: &ServedKind) -> bool {
    kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition"
}

fn definitions() -> GroupResource {
    GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions")
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn flag(object: &Value, pointer: &str) -> bool {
    object
        .pointer(pointer)
        .and_then(Value::as_bool)
        .unwrap_or(false)
}

/// The resource that a definition defines.
fn defined(definition: &Value) -> GroupResource {
    GroupResource::new(
        text(definition, "/spec/group"),
        text(definition, "/spec/names/plural"),
    )
}

/// Remembers in the status that objects may be stored in the storage version.
pub(crate) fn remember_storage(definition: &mut Value) {
    let versions = items(definition, "/spec/versions");
    let storage = versions.iter().find(|version| flag(version, "/storage"));
    let Some(storage) = storage.map(|version| text(version, "/name").to_owned()) else {
        return;
    };
    let Some(fields) = definition.as_object_mut() else {
        return;
    };
    if let Some(stored) = status_list(fields, "storedVersions")
        && !stored.iter().any(|version| *version == storage)
    {
        stored.push(storage.into());
    }
}

/// A list of the status, which is written as null while it is empty.
fn status_list<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Vec<Value>> {
    let status = fields.entry("status").or_insert_with(|| json!({}));
    let list = status.as_object_mut()?.entry(name).or_insert(Value::Null);
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut()
}
