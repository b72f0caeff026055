use serde_json::{Map, Value};

use super::PatchError;
use super::lists::{self, Order};
use crate::go;
use crate::schema::{Node, Schema};

type Json = Map<String, Value>;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// Applies a strategic merge patch. The schema's `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`
/// define how each list is merged.
///
/// It supports `$patch: replace` and `$patch: delete`, `$retainKeys`, `$deleteFromPrimitiveList/…` and
/// `$setElementOrder/…`. Kinds without such a schema (those of CRDs) do not accept this format: the caller returns 415.
///
/// # Errors
/// `PatchError` if the patch or a directive is malformed, or if a list cannot be merged.
pub fn strategic_merge_patch(
    schema: &Schema,
    object: &mut Value,
    patch: &Value,
) -> Result<(), PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::Malformed(format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go::json_kind(patch)
        )));
    };
    let before = object.as_object().cloned().unwrap_or_default();
    *object = Value::Object(merge_maps(before, patch.clone(), Some(schema.node()))?);
    Ok(())
}

pub(super) fn malformed(text: &str) -> PatchError {
    PatchError::Malformed(text.to_owned())
}

/// The error for an unknown `$patch` directive.
pub(super) fn unknown_directive(directive: &Value, map: &Json) -> PatchError {
    let map = Value::Object(map.clone());
    let (directive, map) = (go::Printed(directive), go::Printed(&map));
    PatchError::Internal(format!("unknown patch type: {directive} in map: {map}"))
}

pub(super) fn merge_maps(
    mut original: Json,
    mut patch: Json,
    node: Option<&Node>,
) -> Result<Json, PatchError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Json::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    ordered_lists(&mut original, &mut patch, node)?;
    for (key, value) in patch {
        if let Some(name) = key.strip_prefix(DELETE_FROM) {
            let name = name.strip_prefix('/').unwrap_or_default();
            delete_from(&mut original, name, &value)?;
        } else if value.is_null() {
            original.remove(&key);
        } else {
            merge_field(&mut original, key, value, node)?;
        }
    }
    Ok(original)
}

fn field<'a>(node: Option<&'a Node>, name: &str) -> Option<&'a Node> {
    // If the schema of a kind does not contain the fields of the metadata, the schema of every kind's metadata applies.
    let found = node.and_then(|n| n.field(name)).map(Schema::node);
    match found {
        Some(found) if name != "metadata" || !found.properties.is_empty() => Some(found),
        None if name != "metadata" => None,
        _ => Some(crate::schema::object_meta().node()),
    }
}

fn merge_field(
    original: &mut Json,
    key: String,
    value: Value,
    node: Option<&Node>,
) -> Result<(), PatchError> {
    let child = field(node, &key);
    let replaces = child.is_some_and(|n| n.strategy.replace);
    let merged = match (original.remove(&key), value) {
        (Some(Value::Object(before)), Value::Object(patch)) => {
            if replaces {
                Some(Value::Object(patch))
            } else {
                Some(Value::Object(merge_maps(before, patch, child)?))
            }
        }
        (Some(Value::Array(before)), Value::Array(patch)) => {
            Some(Value::Array(merge_lists(before, patch, child)?))
        }
        (_, value) => fresh(value),
    };
    if let Some(merged) = merged {
        original.insert(key, merged);
    }
    Ok(())
}

fn merge_lists(
    before: Vec<Value>,
    patch: Vec<Value>,
    node: Option<&Node>,
) -> Result<Vec<Value>, PatchError> {
    match node {
        Some(node) if node.strategy.merge => lists::merge(before, patch, node),
        _ => Ok(patch),
    }
}

/// A new value: nulls and everything under a directive are removed.
fn fresh(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) => {
            if map.contains_key(DIRECTIVE) {
                return None;
            }
            let kept = map.into_iter().filter(|(_, v)| !v.is_null());
            let kept = kept.filter_map(|(k, v)| Some((k, fresh(v)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(items.into_iter().filter_map(fresh).collect()),
        other => Some(other),
    }
}

/// `$retainKeys`: removes every other field.
fn retain_keys(original: &mut Json, patch: &mut Json) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let wrong = || malformed("invalid patch format of retainKeys");
    let keys = keys.as_array().ok_or_else(wrong)?;
    let keeps = |name: &str| keys.iter().any(|k| k.as_str() == Some(name));
    let is_set = |name: &str, value: &Value| {
        !value.is_null() && !name.starts_with(DELETE_FROM) && !name.starts_with(SET_ORDER)
    };
    if patch.iter().any(|(k, v)| is_set(k, v) && !keeps(k)) {
        return Err(wrong());
    }
    original.retain(|name, _| keeps(name));
    Ok(())
}

/// `$deleteFromPrimitiveList/name`: removes these items.
fn delete_from(original: &mut Json, name: &str, items: &Value) -> Result<(), PatchError> {
    let wrong = || malformed("invalid patch format of primitive list");
    if name.is_empty() {
        return Err(wrong());
    }
    let items = items.as_array().ok_or_else(wrong)?;
    if let Some(Value::Array(list)) = original.get_mut(name) {
        list.retain(|item| !items.contains(item));
    }
    Ok(())
}

/// `$setElementOrder/name`: merges the list and puts it into this order.
fn ordered_lists(
    original: &mut Json,
    patch: &mut Json,
    node: Option<&Node>,
) -> Result<(), PatchError> {
    let wrong = || malformed("invalid patch format of setElementOrder list");
    let directives: Vec<String> = patch
        .keys()
        .filter(|k| k.starts_with(SET_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let order = match patch.remove(&directive) {
            Some(Value::Array(order)) => order,
            _ => return Err(wrong()),
        };
        let name = directive
            .strip_prefix(SET_ORDER)
            .and_then(|n| n.strip_prefix('/'));
        let name = name.filter(|n| !n.is_empty()).ok_or_else(wrong)?;
        let list = |value: Option<&Value>| match value {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.clone())),
            Some(_) => Err(wrong()),
        };
        let before = list(original.get(name))?;
        let change = list(patch.get(name))?;
        let child = field(node, name);
        let key = child.and_then(|n| n.merge_key.as_deref());
        lists::check_order(change.as_deref().unwrap_or_default(), &order, key)?;
        let merged = match (&before, change) {
            (None, None) => continue,
            (Some(before), None) => before.clone(),
            (None, Some(change)) => change.into_iter().filter_map(fresh).collect(),
            (Some(before), Some(change)) => merge_lists(before.clone(), change, child)?,
        };
        let order = Order {
            wanted: &order,
            live: before.as_deref().unwrap_or_default(),
            key,
        };
        original.insert(name.to_owned(), Value::Array(order.arrange(merged)?));
        patch.remove(name);
    }
    Ok(())
}
