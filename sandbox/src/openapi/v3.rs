use std::collections::BTreeMap;

use ring::digest::{Context, SHA512};
use serde_json::{Map, Value, json};

use super::definitions::{collect, definition_name, meta};
use super::paths::{
    Body, Operation, operations, parameter_type, path_parameter_description, path_parameters,
};
use crate::builtin;
use crate::discovery::{group_names, versions};
use crate::registry::{Registry, ServedKind};

/// `/openapi/v3`: the address of the document of each group and version. The hash in an address changes with the
/// document.
pub(crate) fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for group in std::iter::once("").chain(group_names(registry)) {
        for version in versions(registry, group) {
            let path = if group.is_empty() {
                format!("api/{version}")
            } else {
                format!("apis/{group}/{version}")
            };
            let hash = hash(&of(registry, group, version));
            let address = format!("/openapi/v3/{path}?hash={hash}");
            paths.insert(path, json!({"serverRelativeURL": address}));
        }
    }
    json!({"paths": paths})
}

/// `/openapi/v3/api/v1` and `/openapi/v3/apis/<group>/<version>`. Returns `None` if the version is not served.
pub(crate) fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let kinds = of(registry, group, version);
    if kinds.is_empty() {
        return None;
    }
    let mut paths = Map::new();
    let mut by_path: BTreeMap<String, Vec<Operation>> = BTreeMap::new();
    for operation in kinds.iter().flat_map(|kind| operations(kind)) {
        let path = operation.path.clone();
        by_path.entry(path).or_default().push(operation);
    }
    for (path, operations) in by_path {
        let item = path_item(&path, &operations);
        paths.insert(path, item);
    }
    let custom = kinds.iter().any(|kind| kind.is_custom());
    let items: Vec<String> = kinds.iter().map(|kind| definition_name(kind)).collect();
    let mut schemas: Map<String, Value> = collect(kinds)
        .into_iter()
        .map(|(name, schema)| (name, referring(schema)))
        .collect();
    if custom {
        // The items of such a list are plain references.
        for (name, list) in &mut schemas {
            let item = list.pointer_mut("/properties/items/items");
            let refers = |item: &Value| {
                let target = item.pointer("/allOf/0/$ref").and_then(Value::as_str);
                let target = target.and_then(|target| target.rsplit('/').next());
                target.is_some_and(|target| target != name && items.iter().any(|own| own == target))
            };
            if let Some(item) = item.filter(|item| refers(item)) {
                *item = item["allOf"][0].take();
            }
        }
    }
    let info = match custom {
        true => json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}),
        false => json!({"title": "Kubernetes", "version": builtin::source().rsplit(' ').next()}),
    };
    Some(json!({
        "openapi": "3.0.0",
        "info": info,
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

/// A hash over everything that makes up a document, without building the document.
fn hash(kinds: &[&ServedKind]) -> String {
    let mut hash = Context::new(&SHA512);
    let mut add = |text: &str| {
        hash.update(text.as_bytes());
        hash.update(&[0]);
    };
    add(builtin::source());
    add(&builtin::checksum());
    for kind in kinds {
        let shape = (kind.namespaced, kind.status, kind.scale.is_some());
        add(&format!(
            "{:?}",
            (&kind.plural, &kind.kind, &kind.list_kind)
        ));
        add(&format!("{:?}", (&kind.verbs, shape)));
        if kind.is_custom() {
            add(&kind.schema.json().to_string());
        }
    }
    let hash = hash.finish();
    hash.as_ref()
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect()
}

/// A path with its operations. Parameters that all operations share are listed once for the path.
fn path_item(path: &str, operations: &[Operation]) -> Value {
    let mut shared: Vec<&str> = operations
        .first()
        .map_or(&[][..], |first| first.query)
        .to_vec();
    shared.retain(|name| operations.iter().all(|other| other.query.contains(name)));
    let mut parameters: BTreeMap<&str, Value> = shared
        .iter()
        .chain(&["pretty"])
        .map(|name| (*name, query("", name)))
        .collect();
    for name in path_parameters(path) {
        let schema = json!({"type": "string", "uniqueItems": true});
        let described = path_parameter_description(name, operations);
        let parameter = json!({
            "name": name, "in": "path", "required": true, "schema": schema, "description": described,
        });
        parameters.insert(name, parameter);
    }
    let mut item = Map::new();
    item.insert("parameters".into(), parameters.into_values().collect());
    for operation in operations {
        item.insert(operation.method.into(), write(operation, &shared));
    }
    Value::Object(item)
}

fn query(method: &str, name: &str) -> Value {
    let schema = json!({"type": parameter_type(name), "uniqueItems": true});
    let described = builtin::parameter_description(method, name);
    json!({"name": name, "in": "query", "schema": schema, "description": described})
}

/// A body in the formats in which every server reads and writes objects.
fn content(definition: &str) -> Value {
    let schema = json!({"$ref": format!("#/components/schemas/{definition}")});
    json!({"application/json": {"schema": schema}, "application/yaml": {"schema": schema}})
}

/// Writes an operation. `shared` are the parameters of its path.
fn write(operation: &Operation, shared: &[&str]) -> Value {
    let [group, version, kind] = &operation.gvk;
    let own = operation.query.iter().filter(|name| !shared.contains(name));
    let parameters: Vec<Value> = own.map(|name| query(operation.method, name)).collect();
    let mut responses = Map::new();
    let mut answer = |code: &str, description: &str| {
        let content = content(&operation.answer);
        let answer = json!({"description": description, "content": content});
        responses.insert(code.into(), answer);
    };
    answer("200", "OK");
    if matches!(operation.action, "post" | "put") {
        answer("201", "Created");
    }
    if matches!(operation.action, "post" | "delete") {
        answer("202", "Accepted");
    }
    responses.insert("401".into(), json!({"description": "Unauthorized"}));
    let mut written = json!({
        "description": operation.description,
        "operationId": operation.id,
        "responses": responses,
        "tags": [operation.tag],
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    });
    if !parameters.is_empty() {
        written["parameters"] = parameters.into();
    }
    let content = match &operation.body {
        None => return written,
        Some(Body::Object(name)) => content(name),
        Some(Body::Patch(types)) => {
            let schema = json!({"$ref": format!("#/components/schemas/{}", meta("Patch"))});
            let forms = types
                .iter()
                .map(|name| ((*name).to_owned(), json!({"schema": schema})));
            forms.collect()
        }
    };
    written["requestBody"] = json!({"content": content});
    if operation.action != "delete" && operation.action != "deletecollection" {
        written["requestBody"]["required"] = true.into();
    }
    written
}

/// Writes references in the form of version 3: alone in an `allOf`, so that other keywords can follow.
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
