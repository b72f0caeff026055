use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::{definition, definition_names};
use crate::registry::ServedKind;
use crate::schema::{Schema, SchemaSet};

// Immutable, and only as large as the kinds in use: definitions are read when they are first needed.
static SCHEMAS: LazyLock<Option<SchemaSet>> = LazyLock::new(|| {
    let table = definition_names().filter_map(|name| {
        let short = name.rsplit('.').next().unwrap_or(name);
        let schema = special(short).or_else(|| definition(name).map(optional))?;
        Some((name.to_owned(), schema))
    });
    SchemaSet::new(table.collect()).ok()
});

/// The schema of a built-in kind. Returns `None` for other kinds.
pub fn schema(kind: &ServedKind) -> Option<Schema> {
    schema_of(super::definition_of(kind)?)
}

/// The schema of a definition, by its full name.
pub(super) fn schema_of(definition: &str) -> Option<Schema> {
    SCHEMAS.as_ref()?.get(definition)
}

/// The schema of a definition with every reference replaced by its target.
///
/// A definition that contains itself (JSONSchemaProps) is an open object where it occurs again: its fields are kept
/// without a check. Types with a form of their own on the wire (quantities, int-or-string, arbitrary JSON) have the
/// `x-kubernetes-` extensions that structural schemas have for them.
///
/// A name without a definition gives an open object.
pub fn schema_json(name: &str) -> Value {
    expand(name, &mut Vec::new())
}

fn open() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

fn open_object() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// Removes `required`: a missing field of a built-in kind decodes as its zero value, and code validates that.
fn optional(mut schema: Value) -> Value {
    if let Value::Object(fields) = &mut schema {
        fields.remove("required");
    }
    schema
}

/// The schemas of types whose published description differs from their form on the wire.
fn special(short: &str) -> Option<Value> {
    match short {
        "IntOrString" => Some(json!({"x-kubernetes-int-or-string": true})),
        // A number is accepted too. Defaulting turns it into a string.
        "Quantity"
        | "JSON"
        | "JSONSchemaPropsOrArray"
        | "JSONSchemaPropsOrBool"
        | "JSONSchemaPropsOrStringArray" => Some(open()),
        "FieldsV1" | "RawExtension" => Some(open_object()),
        _ => None,
    }
}

fn expand(name: &str, within: &mut Vec<String>) -> Value {
    let short = name.rsplit('.').next().unwrap_or(name);
    if let Some(schema) = special(short) {
        return schema;
    }
    if within.iter().any(|outer| outer == name) {
        return open_object();
    }
    let Some(definition) = definition(name) else {
        return open_object();
    };
    within.push(name.to_owned());
    let expanded = inline(definition, within);
    within.pop();
    expanded
}

fn inline(schema: Value, within: &mut Vec<String>) -> Value {
    let Value::Object(fields) = schema else {
        return schema;
    };
    let mut out = Map::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("$ref", Value::String(name)) => {
                if let Value::Object(target) = expand(&name, within) {
                    for (key, value) in target {
                        out.entry(key).or_insert(value);
                    }
                }
            }
            ("properties", Value::Object(properties)) => {
                let inlined: Map<String, Value> = properties
                    .into_iter()
                    .map(|(name, property)| (name, inline(property, within)))
                    .collect();
                out.insert(key, Value::Object(inlined));
            }
            ("items" | "additionalProperties", value) => {
                out.insert(key, inline(value, within));
            }
            ("x-kubernetes-group-version-kind" | "x-kubernetes-unions" | "required", _) => {}
            (_, value) => {
                out.insert(key, value);
            }
        }
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_schema_and_keeps_known_fields() {
        for kind in crate::builtin::kinds() {
            let mut object = json!({"metadata": {"name": "a", "labels": {"a": "b"}}, "bogus": 1});
            let dropped = schema(&kind).unwrap().prune(&mut object);
            assert_eq!(dropped, ["bogus"], "{}", kind.plural);
            assert_eq!(object["metadata"]["labels"]["a"], "b");
        }
    }

    #[test]
    fn references_are_replaced_at_every_depth() {
        let pod = schema_json("io.k8s.api.core.v1.Pod");
        let ports =
            &pod["properties"]["spec"]["properties"]["containers"]["items"]["properties"]["ports"];
        assert_eq!(ports["x-kubernetes-list-type"], "map");
        assert_eq!(
            ports["items"]["properties"]["containerPort"]["format"],
            "int32"
        );
        assert!(!pod.to_string().contains("$ref"));
    }

    #[test]
    fn a_recursive_definition_ends_in_an_open_object() {
        let crd = schema_json(
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
        );
        let versions = &crd["properties"]["spec"]["properties"]["versions"]["items"]["properties"];
        let schema = &versions["schema"]["properties"]["openAPIV3Schema"];
        assert_eq!(schema["properties"]["type"]["type"], "string");
        assert_eq!(schema["properties"]["not"], open_object());
    }
}
