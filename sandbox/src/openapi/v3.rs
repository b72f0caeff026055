use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use super::definitions::collect;
use super::paths::{Body, Operation, operations, parameter_type, path_parameters};
use crate::builtin;
use crate::discovery::{group_names, versions};
use crate::registry::{Registry, ServedKind};

/// `/openapi/v3`: where the document of each group and version is. The hash in an address changes with the document.
pub fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for group in std::iter::once("").chain(group_names(registry)) {
        for version in versions(registry, group) {
            let path = if group.is_empty() {
                format!("api/{version}")
            } else {
                format!("apis/{group}/{version}")
            };
            let hash = hash(&of(registry, group, version));
            let address = format!("/openapi/v3/{path}?hash={hash:016X}");
            paths.insert(path, json!({"serverRelativeURL": address}));
        }
    }
    json!({"paths": paths})
}

/// `/openapi/v3/api/v1` and `/openapi/v3/apis/<group>/<version>`; `None` if nothing is served there.
pub fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let kinds = of(registry, group, version);
    if kinds.is_empty() {
        return None;
    }
    let mut paths = Map::new();
    for operation in kinds.iter().flat_map(|kind| operations(kind)) {
        let written = write(&operation);
        let item = paths
            .entry(operation.path.clone())
            .or_insert_with(|| path_item(&operation.path));
        item[operation.method] = written;
    }
    let schemas: Map<String, Value> = collect(kinds)
        .into_iter()
        .map(|(name, schema)| (name, referring(schema)))
        .collect();
    Some(json!({
        "openapi": "3.0.0",
        "info": {
            "title": "Kubernetes",
            "version": builtin::source().rsplit(' ').next(),
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }))
}

fn of<'a>(registry: &'a Registry, group: &str, version: &str) -> Vec<&'a ServedKind> {
    let kinds = registry.kinds().iter().map(AsRef::as_ref);
    kinds
        .filter(|kind: &&ServedKind| kind.group == group && kind.version == version)
        .collect()
}

/// Of all that makes a document, without making it.
fn hash(kinds: &[&ServedKind]) -> u64 {
    let mut hasher = DefaultHasher::new();
    builtin::source().hash(&mut hasher);
    for kind in kinds {
        (&kind.plural, &kind.kind, &kind.list_kind, &kind.verbs).hash(&mut hasher);
        (kind.namespaced, kind.status, kind.scale.is_some()).hash(&mut hasher);
        if kind.is_custom() {
            kind.schema.json().to_string().hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn path_item(path: &str) -> Value {
    let parameters: Vec<Value> = path_parameters(path)
        .map(|name| {
            let schema = json!({"type": "string", "uniqueItems": true});
            json!({"name": name, "in": "path", "required": true, "schema": schema})
        })
        .collect();
    json!({"parameters": parameters})
}

fn write(operation: &Operation) -> Value {
    let [group, version, kind] = &operation.gvk;
    let parameters: Vec<Value> = operation
        .query
        .iter()
        .map(|name| {
            let schema = json!({"type": parameter_type(name), "uniqueItems": true});
            json!({"name": name, "in": "query", "schema": schema})
        })
        .collect();
    let answer = json!({"$ref": format!("#/components/schemas/{}", operation.answer)});
    let mut written = json!({
        "operationId": operation.id,
        "parameters": parameters,
        "responses": {"200": {
            "description": "OK",
            "content": {"application/json": {"schema": answer}},
        }},
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    });
    let content = match &operation.body {
        None => return written,
        Some(Body::Object(name)) => {
            let schema = json!({"$ref": format!("#/components/schemas/{name}")});
            json!({"*/*": {"schema": schema}})
        }
        Some(Body::Patch(types)) => types
            .iter()
            .map(|name| {
                let schema = json!({"schema": {"type": "object"}});
                ((*name).to_owned(), schema)
            })
            .collect(),
    };
    written["requestBody"] = json!({"content": content});
    written
}

/// With references as version 3 has them: alone in an `allOf`, so that more can stand beside them.
fn referring(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let mut out = Map::new();
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("$ref", Value::String(name)) => {
                        let target = format!("#/components/schemas/{name}");
                        out.insert("allOf".to_owned(), json!([{"$ref": target}]));
                    }
                    (_, value) => {
                        out.insert(key, referring(value));
                    }
                }
            }
            Value::Object(out)
        }
        Value::Array(items) => items.into_iter().map(referring).collect(),
        other => other,
    }
}
