use serde_json::{Map, Value, json};

use super::error::FieldError;
use super::node::{ListType, Node, Schema};
use super::path::FieldPath;

/// Finds duplicates in lists that are sets or maps.
pub(super) fn validate(
    schema: &Schema,
    value: &Value,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let node = schema.node();
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                if let Some(schema) = node.properties.get(name.as_str()) {
                    validate(schema, value, &at.child(name), errors);
                } else if let Some(schema) = node.entries() {
                    validate(schema, value, &at.key(name), errors);
                }
            }
        }
        Value::Array(items) => {
            match node.list_type {
                Some(ListType::Set) => {
                    for i in repeated(items) {
                        errors.push(FieldError::duplicate(at.index(i), items[i].clone()));
                    }
                }
                Some(ListType::Map) => check_map(node, items, at, errors),
                _ => {}
            }
            if let Some(schema) = &node.items {
                for (i, item) in items.iter().enumerate() {
                    validate(schema, item, &at.index(i), errors);
                }
            }
        }
        _ => {}
    }
}

fn check_map(node: &Node, items: &[Value], at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if let Some(i) = items.iter().position(|v| !v.is_object() && !v.is_null()) {
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(at.index(i), items[i].clone(), detail));
        return;
    }
    let keys: Vec<Value> = items
        .iter()
        .map(|item| {
            let mut key = Map::new();
            for name in &node.list_map_keys {
                if let Some(value) = item.get(&**name) {
                    key.insert(name.to_string(), value.clone());
                }
            }
            json!(key)
        })
        .collect();
    for i in repeated(&keys) {
        errors.push(FieldError::duplicate(at.index(i), keys[i].clone()));
    }
}

/// For every repeated value, the index of its first repetition.
fn repeated(items: &[Value]) -> Vec<usize> {
    let mut seen = std::collections::HashMap::new();
    let mut found = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let times = seen.entry(item.to_string()).or_insert(0);
        *times += 1;
        if *times == 2 {
            found.push(i);
        }
    }
    found
}
