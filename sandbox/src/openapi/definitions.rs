use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::builtin;
use crate::registry::ServedKind;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";

/// What a real server says about the `apiVersion` of an object inside a custom resource.
const EMBEDDED_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";

/// Definitions by name. A reference is the bare name of another definition.
pub(super) type Definitions = BTreeMap<String, Value>;

/// The name of a kind's schema: with the Go package for built-in kinds, with the parts of the group in reverse order
/// for others.
pub(super) fn definition_name(kind: &ServedKind) -> String {
    if let Some(resource) = builtin::resource(kind) {
        return resource.definition.clone();
    }
    let mut parts: Vec<&str> = kind.group.split('.').rev().collect();
    parts.extend([kind.version.as_str(), kind.kind.as_str()]);
    parts.join(".")
}

/// The definition name of a kind's list.
pub(super) fn list_name(kind: &ServedKind) -> String {
    let name = definition_name(kind);
    match name.rsplit_once('.') {
        Some((package, _)) => format!("{package}.{}", kind.list_kind),
        None => kind.list_kind.clone(),
    }
}

/// The name of a type of `meta/v1`.
pub(super) fn meta(name: &str) -> String {
    format!("{META}{name}")
}

/// The name of the scale subresource's type.
pub(super) fn scale() -> &'static str {
    SCALE
}

/// Every definition that the kinds and their operations refer to.
pub(super) fn collect<'a>(kinds: impl IntoIterator<Item = &'a ServedKind>) -> Definitions {
    let mut found = Definitions::new();
    let mut wanted: Vec<String> = ["DeleteOptions", "Status", "ListMeta", "ObjectMeta"]
        .into_iter()
        .map(meta)
        .collect();
    for kind in kinds {
        let name = definition_name(kind);
        if kind.scale.is_some() {
            wanted.push(SCALE.to_owned());
        }
        if kind.allows("list") {
            let list_name = list_name(kind);
            let mut list = list(kind, &name);
            builtin::describe(&list_name, &mut list);
            found.insert(list_name, list);
        }
        if kind.is_custom() {
            found.insert(name, custom(kind));
        } else {
            wanted.push(name);
        }
    }
    let mut patch = json!({"type": "object"});
    builtin::describe(&meta("Patch"), &mut patch);
    found.insert(meta("Patch"), patch);
    while let Some(name) = wanted.pop() {
        if found.contains_key(&name) {
            continue;
        }
        if let Some(mut definition) = builtin::definition(&name) {
            references(&definition, &mut wanted);
            builtin::describe(&name, &mut definition);
            found.insert(name, definition);
        }
    }
    found
}

fn references(schema: &Value, into: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(name)) = fields.get("$ref") {
                into.push(name.clone());
            }
            fields.values().for_each(|value| references(value, into));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, into)),
        _ => {}
    }
}

fn gvk(kind: &ServedKind, name: &str) -> Value {
    json!([{"group": kind.group, "version": kind.version, "kind": name}])
}

fn custom(kind: &ServedKind) -> Value {
    let mut schema = Value::clone(&kind.schema.json());
    if !schema.is_object() {
        schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    }
    special(&mut schema);
    if let Value::Object(fields) = &mut schema {
        let properties = fields.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.extend(type_and_metadata());
        }
        fields.insert(
            "x-kubernetes-group-version-kind".to_owned(),
            gvk(kind, &kind.kind),
        );
        fields.extend(selectable_fields(kind));
    }
    schema
}

/// The extension that names the fields for field selectors, if the kind has such fields.
fn selectable_fields(kind: &ServedKind) -> Option<(String, Value)> {
    let fields = kind.selectable_fields.iter();
    let paths: Vec<Value> = fields.map(|field| json!({"fieldPath": field})).collect();
    (!paths.is_empty()).then(|| ("x-kubernetes-selectable-fields".into(), paths.into()))
}

/// Expresses the extensions of CustomResourceDefinitions in plain OpenAPI.
fn special(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        return;
    };
    let is = |fields: &Map<String, Value>, name: &str| fields.get(name) == Some(&Value::Bool(true));
    if is(fields, "x-kubernetes-int-or-string") && !fields.contains_key("anyOf") {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        fields.insert("anyOf".into(), either);
    }
    for name in ["properties", "patternProperties"] {
        let children = fields.get_mut(name).and_then(Value::as_object_mut);
        children
            .into_iter()
            .flat_map(|children| children.values_mut())
            .for_each(special);
    }
    for name in ["items", "additionalProperties"] {
        fields.get_mut(name).into_iter().for_each(special);
    }
    if is(fields, "x-kubernetes-embedded-resource") {
        let properties = fields.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.extend(type_and_metadata());
            properties["apiVersion"]["description"] = EMBEDDED_VERSION.into();
            properties["kind"]["description"] = EMBEDDED_KIND.into();
        }
        let required = fields.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            for name in ["kind", "apiVersion"] {
                if !required.iter().any(|known| known == name) {
                    required.push(name.into());
                }
            }
        }
    }
}

/// The fields that a real server adds to the schema of each custom resource.
fn type_and_metadata() -> Map<String, Value> {
    let text = |name| json!({"type": "string", "description": of_list(name)});
    let metadata = builtin::description("io.k8s.api.core.v1.Pod", "metadata");
    let fields = [
        ("apiVersion", text("apiVersion")),
        ("kind", text("kind")),
        (
            "metadata",
            json!({"$ref": meta("ObjectMeta"), "description": metadata}),
        ),
    ];
    let fields = fields.into_iter();
    fields
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

/// The description of a field that every list has.
fn of_list(field: &str) -> Option<&'static str> {
    builtin::description("io.k8s.api.core.v1.PodList", field)
}

fn list(kind: &ServedKind, item: &str) -> Value {
    let items = format!(
        "List of {}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md",
        kind.plural
    );
    let mut list = json!({
        "description": format!("{} is a list of {}", kind.list_kind, kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": of_list("apiVersion")},
            "kind": {"type": "string", "description": of_list("kind")},
            "metadata": {"$ref": meta("ListMeta"), "description": of_list("metadata")},
            "items": {"type": "array", "items": {"$ref": item}, "description": items},
        },
        "x-kubernetes-group-version-kind": gvk(kind, &kind.list_kind),
    });
    if let Value::Object(fields) = &mut list {
        fields.extend(selectable_fields(kind));
    }
    list
}
