//! The fields of one CustomResourceDefinition.

use serde_json::{Map, Value, json};

use crate::registry::{GroupResource, ServedKind};

/// Whether this kind is CustomResourceDefinition.
pub(crate) fn is_definition(kind: &ServedKind) -> bool {
    kind.group == "apiextensions.k8s.io" && kind.kind == "CustomResourceDefinition"
}

pub(crate) fn definitions() -> GroupResource {
    GroupResource::new("apiextensions.k8s.io", "customresourcedefinitions")
}

pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(crate) fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

pub(crate) fn flag(object: &Value, pointer: &str) -> bool {
    object
        .pointer(pointer)
        .and_then(Value::as_bool)
        .unwrap_or(false)
}

/// The resource that a definition defines.
pub(crate) fn defined_resource(definition: &Value) -> GroupResource {
    GroupResource::new(
        text(definition, "/spec/group"),
        text(definition, "/spec/names/plural"),
    )
}

/// Records in the status that objects may be stored in the storage version.
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

/// A list of the status. An empty one is written as null.
pub(crate) fn status_list<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
) -> Option<&'a mut Vec<Value>> {
    let status = fields.entry("status").or_insert_with(|| json!({}));
    let list = status.as_object_mut()?.entry(name).or_insert(Value::Null);
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut()
}
