use serde_json::Value;

use super::node::{Node, Schema};

/// Drops nulls that are not allowed, then fills in defaults.
pub(super) fn apply(schema: &Schema, object: &mut Value) {
    drop_nulls(Some(schema.node()), object);
    fill(Some(schema.node()), object);
}

/// Whether no default is missing.
pub(super) fn is_filled(node: &Node, value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            let missing = node.properties.iter().any(|(name, child)| {
                let child = child.node();
                child.default.is_some()
                    && map
                        .get(&**name)
                        .is_none_or(|found| is_forbidden_null(Some(child), found))
            });
            !missing
                && map.iter().all(|(key, value)| {
                    node.field(key)
                        .is_none_or(|child| is_filled(child.node(), value))
                })
        }
        Value::Array(items) => node
            .items
            .as_ref()
            .is_none_or(|child| items.iter().all(|item| is_filled(child.node(), item))),
        _ => true,
    }
}

fn is_forbidden_null(node: Option<&Node>, value: &Value) -> bool {
    value.is_null() && node.is_some_and(|n| !n.nullable)
}

/// Drops nulls that are neither allowed nor replaced by a default.
fn drop_nulls(node: Option<&Node>, value: &mut Value) {
    match value {
        Value::Object(map) => map.retain(|key, value| {
            let child = node.and_then(|n| n.field(key)).map(Schema::node);
            let dropped =
                is_forbidden_null(child, value) && child.is_some_and(|c| c.default.is_none());
            if !dropped {
                drop_nulls(child, value);
            }
            !dropped
        }),
        Value::Array(items) => {
            let child = node.and_then(|n| n.items.as_ref()).map(Schema::node);
            for item in items {
                drop_nulls(child, item);
            }
        }
        _ => {}
    }
}

pub(super) fn fill(node: Option<&Node>, value: &mut Value) {
    let Some(node) = node else { return };
    match value {
        Value::Object(map) => {
            for (name, child) in &node.properties {
                let child = child.node();
                if let Some(default) = &child.default {
                    match map.get_mut(&**name) {
                        None => {
                            map.insert(name.to_string(), default.clone());
                        }
                        Some(found) if is_forbidden_null(Some(child), found) => {
                            *found = default.clone();
                        }
                        Some(_) => {}
                    }
                }
            }
            for (key, value) in map.iter_mut() {
                let child = node.field(key).map(Schema::node);
                replace_null(child, value);
                fill(child, value);
            }
        }
        Value::Array(items) => {
            let child = node.items.as_ref().map(Schema::node);
            for item in items {
                replace_null(child, item);
                fill(child, item);
            }
        }
        _ => {}
    }
}

fn replace_null(node: Option<&Node>, value: &mut Value) {
    if is_forbidden_null(node, value)
        && let Some(default) = node.and_then(|n| n.default.as_ref())
    {
        *value = default.clone();
    }
}
