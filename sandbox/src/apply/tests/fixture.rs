//! A schema, and objects of it.

use serde_json::{Value, json};

use crate::{
    apply::{ApplyOptions, apply},
    schema::Schema,
};

pub(in crate::apply) fn schema() -> Schema {
    Schema::from_json(&json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "replicas": {"type": "integer"},
                    "image": {"type": "string"},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "args": {"type": "array", "items": {"type": "string"}},
                    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "selector": {"type": "object", "x-kubernetes-map-type": "atomic",
                        "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
                    "ports": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["port", "protocol"],
                        "items": {"type": "object", "required": ["port"], "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                            "name": {"type": "string"}
                        }}
                    }
                }
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}}
        }
    }))
    .expect("a structural schema")
}

pub(in crate::apply) fn options(manager: &str) -> ApplyOptions {
    let time = "2026-01-01T00:00:00Z".parse().expect("a time");
    ApplyOptions::new(manager, "example.com/v1", time)
}

pub(in crate::apply) fn later(manager: &str) -> ApplyOptions {
    let time = "2026-01-01T01:00:00Z".parse().expect("a time");
    ApplyOptions::new(manager, "example.com/v1", time)
}

pub(in crate::apply) fn site(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "a", "namespace": "default"}, "spec": spec})
}

pub(in crate::apply) fn applied(
    live: Option<&Value>,
    options: &ApplyOptions,
    spec: Value,
) -> Value {
    apply(&schema(), live, &site(spec), options)
        .expect("applies")
        .object
}

pub(in crate::apply) fn owned(object: &Value) -> Vec<(String, Value)> {
    let entries = object["metadata"]["managedFields"].as_array();
    let entries = entries.map(Vec::as_slice).unwrap_or_default();
    entries
        .iter()
        .map(|e| {
            let name = format!("{} {}", e["manager"], e["operation"]).replace('"', "");
            (name, e["fieldsV1"].clone())
        })
        .collect()
}

pub(in crate::apply) fn refused(live: &Value, options: &ApplyOptions, spec: Value) -> String {
    apply(&schema(), Some(live), &site(spec), options)
        .expect_err("must be refused")
        .to_string()
}
