//! Reads JSON into nodes without checks: `structural` has checked a CRD's schema before, and built-in schemas are
//! trusted.

use std::sync::Arc;

use regex::Regex;
use serde_json::{Map, Value};

use super::node::{Additional, ListType, MapType, Node, PatchStrategy, Schema, SchemaType};
use super::rule::Rule;
use super::set::{Definitions, Reference, reference_name};

/// The node that the schema of a whole resource describes.
pub(super) fn root(json: &Value) -> Node {
    let mut root = plain(json, None);
    root.rules = json
        .as_object()
        .map_or_else(Vec::new, |map| Rule::all(map, true));
    root
}

/// The node that a schema's JSON describes.
pub(super) fn node(json: &Value, definitions: Option<&Arc<Definitions>>) -> Node {
    let mut node = plain(json, definitions);
    if let Some(map) = json.as_object() {
        node.rules = Rule::all(map, node.embedded_resource);
    }
    node
}

/// The node without its rules.
fn plain(json: &Value, definitions: Option<&Arc<Definitions>>) -> Node {
    let mut node = Node::default();
    let Some(map) = json.as_object() else {
        node.preserve_unknown = true;
        return node;
    };
    if let (Some(name), Some(definitions)) = (reference_name(map), definitions) {
        return reference(name, map, definitions).node().clone();
    }
    overlay(&mut node, map, definitions);
    if definitions.is_some() {
        let open = match node.kind {
            None => !node.int_or_string,
            Some(SchemaType::Object) => true,
            _ => false,
        };
        if open && node.properties.is_empty() && node.additional.is_none() {
            node.preserve_unknown = true;
        }
    }
    node
}

fn schema(json: &Value, definitions: Option<&Arc<Definitions>>) -> Schema {
    if let (Some(map), Some(definitions)) = (json.as_object(), definitions)
        && let Some(name) = reference_name(map)
    {
        return Schema::named(reference(name, map, definitions));
    }
    Schema::here(node(json, definitions))
}

fn reference(name: &str, map: &Map<String, Value>, definitions: &Arc<Definitions>) -> Reference {
    let beside = map
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "$ref" | "allOf" | "description"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Reference::new(name.into(), definitions.clone(), beside)
}

/// Lets the keywords of `json` override the node.
pub(super) fn overlay(
    node: &mut Node,
    json: &Map<String, Value>,
    definitions: Option<&Arc<Definitions>>,
) {
    let mut has_checks = node.checks.is_some();
    let mut checks = node.checks.take().map(|c| *c).unwrap_or_default();
    let text = |v: &Value| v.as_str().map(Box::<str>::from);
    let many = |v: &Value| -> Vec<Schema> {
        let items = v.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().map(|s| schema(s, definitions)).collect()
    };
    for (key, value) in json {
        let mut is_check = true;
        match key.as_str() {
            "required" => checks.required = strings(value),
            "enum" => checks.allowed = value.as_array().cloned().unwrap_or_default(),
            "format" => checks.format = text(value).filter(|f| !f.is_empty()),
            "maximum" => checks.maximum = value.as_number().cloned(),
            "minimum" => checks.minimum = value.as_number().cloned(),
            "exclusiveMaximum" => checks.exclusive_maximum = is_true(value),
            "exclusiveMinimum" => checks.exclusive_minimum = is_true(value),
            "multipleOf" => checks.multiple_of = value.as_number().cloned(),
            "maxLength" => checks.max_length = value.as_u64(),
            "minLength" => checks.min_length = value.as_u64(),
            "maxItems" => checks.max_items = value.as_u64(),
            "minItems" => checks.min_items = value.as_u64(),
            "maxProperties" => checks.max_properties = value.as_u64(),
            "minProperties" => checks.min_properties = value.as_u64(),
            "uniqueItems" => checks.unique_items = is_true(value),
            "pattern" => {
                checks.pattern = value.as_str().filter(|p| !p.is_empty()).and_then(|p| {
                    let regex = Regex::new(&super::pattern::go_pattern(p)).ok()?;
                    Some((p.into(), regex))
                });
            }
            "allOf" => checks.all_of = many(value),
            "anyOf" => checks.any_of = many(value),
            "oneOf" => checks.one_of = many(value),
            "not" => checks.not = Some(schema(value, definitions)),
            _ => is_check = false,
        }
        if is_check {
            has_checks = true;
            continue;
        }
        match key.as_str() {
            "type" => node.kind = value.as_str().and_then(SchemaType::from_name),
            "properties" => {
                for (name, json) in value.as_object().into_iter().flatten() {
                    let child = schema(json, definitions);
                    node.properties.insert(name.as_str().into(), child);
                }
            }
            "additionalProperties" => {
                node.additional = Some(match value {
                    Value::Bool(false) => Additional::None,
                    Value::Object(_) => Additional::Of(schema(value, definitions)),
                    _ => Additional::Any,
                });
            }
            "items" => node.items = Some(schema(value, definitions)),
            "nullable" => node.nullable = is_true(value),
            "default" => node.default = (!value.is_null()).then(|| value.clone()),
            "x-kubernetes-preserve-unknown-fields" => node.preserve_unknown = is_true(value),
            "x-kubernetes-int-or-string" => node.int_or_string = is_true(value),
            "x-kubernetes-embedded-resource" => node.embedded_resource = is_true(value),
            "x-kubernetes-list-type" => {
                node.list_type = match value.as_str() {
                    Some("set") => Some(ListType::Set),
                    Some("map") => Some(ListType::Map),
                    Some("atomic") => Some(ListType::Atomic),
                    _ => None,
                }
            }
            "x-kubernetes-list-map-keys" => node.list_map_keys = strings(value),
            "x-kubernetes-map-type" => {
                node.map_type = match value.as_str() {
                    Some("atomic") => Some(MapType::Atomic),
                    Some("granular") => Some(MapType::Granular),
                    _ => None,
                }
            }
            "x-kubernetes-patch-merge-key" => node.merge_key = text(value),
            "x-kubernetes-patch-strategy" => {
                let names = value.as_str().unwrap_or_default();
                let has = |name| names.split(',').any(|n| n.trim() == name);
                node.strategy = PatchStrategy {
                    merge: has("merge"),
                    replace: has("replace"),
                    retain_keys: has("retainKeys"),
                };
            }
            _ => {}
        }
    }
    if checks.format.as_deref() == Some("int-or-string") {
        node.int_or_string = true;
        node.kind = None;
        checks.format = None;
    }
    checks.format = checks
        .format
        .filter(|format| super::format::is_known(format, node));
    if has_checks {
        node.checks = Some(Box::new(checks));
    }
}

fn is_true(value: &Value) -> bool {
    value.as_bool().unwrap_or(false)
}

fn strings(value: &Value) -> Vec<Box<str>> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .filter_map(|v| v.as_str().map(Box::from))
        .collect()
}
