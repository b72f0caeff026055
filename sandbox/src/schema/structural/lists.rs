use serde_json::{Map, Value};

use super::json::{is_true, object, text};
use crate::schema::error::FieldError;
use crate::schema::path::FieldPath;

type Json = Map<String, Value>;

/// Checks `x-kubernetes-map-type`, `x-kubernetes-list-type` and `x-kubernetes-list-map-keys`.
pub(super) fn check(map: &Json, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let kind = text(map, "type");
    let mut must_be = |wanted: &str, keyword: &str| {
        if !map.contains_key(keyword) || kind == wanted {
            return;
        }
        let detail = format!("must be {wanted} if {keyword} is specified");
        let at = at.child("type");
        errors.push(if kind.is_empty() {
            FieldError::required(at, detail)
        } else {
            FieldError::invalid(at, kind, detail)
        });
    };
    must_be("object", "x-kubernetes-map-type");
    must_be("array", "x-kubernetes-list-type");
    let mut one_of = |keyword: &str, allowed: &[&str]| {
        let found = text(map, keyword);
        if map.contains_key(keyword) && !allowed.contains(&found) {
            let allowed = allowed.iter().copied();
            errors.push(FieldError::not_supported(at.child(keyword), found, allowed));
        }
    };
    one_of("x-kubernetes-map-type", &["atomic", "granular"]);
    one_of("x-kubernetes-list-type", &["atomic", "set", "map"]);

    let list_type = text(map, "x-kubernetes-list-type");
    let items = object(map, "items");
    if list_type == "set"
        && let Some(items) = items
    {
        set(items, at, errors);
    }
    let keys = keys(map);
    if !keys.is_empty() && list_type != "map" {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        let at = at.child("x-kubernetes-list-type");
        errors.push(if list_type.is_empty() {
            FieldError::required(at, detail)
        } else {
            FieldError::invalid(at, list_type, detail)
        });
    }
    if list_type == "map" {
        list_map(map, items, &keys, at, errors);
    }
    if matches!(list_type, "set" | "map") && items.is_some_and(|i| is_true(i, "nullable")) {
        let at = at.child("items");
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(at.child("nullable"), detail));
    }
}

fn keys(map: &Json) -> Vec<&str> {
    let keys = map
        .get("x-kubernetes-list-map-keys")
        .and_then(Value::as_array);
    keys.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn set(items: &Json, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let at = at.child("items");
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let keyword = match text(items, "type") {
        "array" if !matches!(text(items, "x-kubernetes-list-type"), "" | "atomic") => {
            "x-kubernetes-list-type"
        }
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => "x-kubernetes-map-type",
        _ => return,
    };
    let found = items.get(keyword).cloned().unwrap_or(Value::Null);
    errors.push(FieldError::invalid(at.child(keyword), found, detail));
}

fn list_map(
    map: &Json,
    items: Option<&Json>,
    keys: &[&str],
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let keys_at = at.child("x-kubernetes-list-map-keys");
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(keys_at, detail));
    }
    let items_at = at.child("items");
    let Some(items) = items else {
        if !map.contains_key("items") {
            let detail = "must have a schema if x-kubernetes-list-type is map";
            errors.push(FieldError::required(items_at, detail));
        }
        return;
    };
    let kind = text(items, "type");
    if kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(items_at.child("type"), kind, detail));
        return;
    }
    let properties_at = items_at.child("properties");
    let required: Vec<&str> = items
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (i, key) in keys.iter().enumerate() {
        if keys[..i].contains(key) {
            let detail = "must not contain duplicate entries";
            errors.push(FieldError::invalid(keys_at, keys.to_vec(), detail));
        }
        let Some(property) = object(items, "properties").and_then(|p| object(p, key)) else {
            let detail = "entries must all be names of item properties";
            errors.push(FieldError::invalid(keys_at, keys.to_vec(), detail));
            continue;
        };
        let key_at = properties_at.key(key);
        if matches!(text(property, "type"), "array" | "object") {
            let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(key_at.child("type"), kind, detail));
        }
        if !required.contains(key) && property.get("default").is_none_or(Value::is_null) {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(key_at.child("default"), detail));
        }
        if is_true(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(key_at.child("nullable"), detail));
        }
    }
}
