use serde_json::{Map, Value, json};

use super::definitions::collect;
use super::paths::{
    Body, Operation, operations, parameter_type, path_parameter_description, path_parameters,
};
use crate::builtin;
use crate::registry::Registry;

/// Content type of [`swagger_protobuf`](super::swagger_protobuf).
///
/// Clients ask for it with an older name that contains `@`, which the grammar of media types does not allow. They
/// cannot read a response with that name.
pub(crate) const SWAGGER_PROTOBUF: &str =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const ASKED_FOR: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The content type of a protobuf response to `/openapi/v2`, if the `Accept` header prefers protobuf.
pub(crate) fn wants_protobuf(accept: &str) -> Option<&'static str> {
    for range in accept.split(',') {
        match range.split(';').next().unwrap_or_default().trim() {
            SWAGGER_PROTOBUF | ASKED_FOR => return Some(SWAGGER_PROTOBUF),
            "application/json" | "*/*" => return None,
            _ => {}
        }
    }
    None
}

/// `/openapi/v2`: everything that is served, in one document.
pub(crate) fn swagger(registry: &Registry) -> Value {
    let kinds = || registry.kinds().iter().map(AsRef::as_ref);
    let mut paths = Map::new();
    for operation in kinds().flat_map(operations) {
        let written = write(&operation);
        let item = paths
            .entry(operation.path.clone())
            .or_insert_with(|| path_item(&operation));
        item[operation.method] = written;
    }
    let definitions: Map<String, Value> = collect(kinds())
        .into_iter()
        .map(|(name, schema)| {
            let reduced = reduce(&name, schema);
            (name, reduced)
        })
        .collect();
    json!({
        "swagger": "2.0",
        "info": {
            "title": "Kubernetes",
            "version": builtin::source().rsplit(' ').next(),
        },
        "paths": paths,
        "definitions": definitions,
    })
}

/// `/openapi/v2` as JSON. It begins with `swagger`, by which tools recognise the document.
pub(crate) fn swagger_json(registry: &Registry) -> String {
    let document = swagger(registry);
    let parts = ["swagger", "info", "paths", "definitions"];
    let parts = parts.map(|name| format!("{name:?}:{}", document[name]));
    format!("{{{}}}", parts.join(","))
}

fn path_item(operation: &Operation) -> Value {
    let parameters: Vec<Value> = path_parameters(&operation.path)
        .map(|name| {
            let described = path_parameter_description(name, std::slice::from_ref(operation));
            json!({"name": name, "in": "path", "required": true, "type": "string", "description": described})
        })
        .collect();
    json!({"parameters": parameters})
}

fn write(operation: &Operation) -> Value {
    let [group, version, kind] = &operation.gvk;
    let mut parameters: Vec<Value> = operation
        .query
        .iter()
        .map(|name| {
            let described = builtin::parameter_description(operation.method, name);
            json!({"name": name, "in": "query", "type": parameter_type(name), "description": described})
        })
        .collect();
    let consumes: &[&str] = match &operation.body {
        Some(Body::Patch(types)) => types,
        _ => &["*/*"],
    };
    let body = match &operation.body {
        None => None,
        Some(Body::Object(name)) => Some(json!({"$ref": reference(name)})),
        Some(Body::Patch(_)) => Some(json!({"type": "object"})),
    };
    if let Some(schema) = body {
        parameters.push(json!({"name": "body", "in": "body", "schema": schema}));
    }
    json!({
        "description": operation.description,
        "operationId": operation.id,
        "consumes": consumes,
        "produces": ["application/json"],
        "parameters": parameters,
        "responses": {"200": {
            "description": "OK",
            "schema": {"$ref": reference(&operation.answer)},
        }},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    })
}

fn reference(name: &str) -> String {
    format!("#/definitions/{name}")
}

/// A definition in the terms of version 2.
fn reduce(name: &str, schema: Value) -> Value {
    let mut reduced = match name.rsplit('.').next() {
        Some("IntOrString") => json!({"type": "string", "format": "int-or-string"}),
        Some("Quantity") => json!({"type": "string"}),
        _ => return node(schema),
    };
    if let Some(described) = schema.get("description") {
        reduced["description"] = described.clone();
    }
    reduced
}

/// Version 2 cannot express that a value may be null or may have several types. Such a value may be anything there, so
/// that clients that validate before they send do not refuse what the server accepts.
fn node(schema: Value) -> Value {
    let Value::Object(fields) = schema else {
        return json!({});
    };
    let is = |key: &str| fields.get(key) == Some(&Value::Bool(true));
    let anything = is("nullable")
        || is("x-kubernetes-int-or-string")
        || is("x-kubernetes-preserve-unknown-fields")
        || is("x-kubernetes-embedded-resource");
    let mut out = Map::new();
    for (key, value) in fields {
        match key.as_str() {
            "type" | "properties" | "items" | "additionalProperties" | "required" if anything => {}
            "default" | "nullable" | "oneOf" | "anyOf" | "allOf" | "not" => {}
            "$ref" => {
                let target = reference(value.as_str().unwrap_or_default());
                out.insert(key, Value::String(target));
            }
            "properties" => {
                let Value::Object(properties) = value else {
                    continue;
                };
                let properties: Map<String, Value> = properties
                    .into_iter()
                    .map(|(name, property)| (name, node(property)))
                    .collect();
                out.insert(key, Value::Object(properties));
            }
            "items" | "additionalProperties" => {
                let value = if value.is_boolean() {
                    value
                } else {
                    node(value)
                };
                out.insert(key, value);
            }
            _ => {
                out.insert(key, value);
            }
        }
    }
    Value::Object(out)
}
