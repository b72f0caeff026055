use serde_json::{Map, Value, json};

use super::json::{fields, is_true, list, object, text};
use crate::schema::error::FieldError;
use crate::schema::path::FieldPath;

type Json = Map<String, Value>;

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Checks the invariants of a structural schema.
pub(super) fn check(map: &Json, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    node(map, Level::Root, at, errors);
}

fn node(map: &Json, level: Level, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let kind = text(map, "type");
    if kind == "array" && !map.contains_key("items") {
        let error = FieldError::required(at.child("items"), "must be specified");
        errors.push(error);
    }
    if let Some(items) = object(map, "items") {
        node(items, Level::Item, &at.child("items"), errors);
    }
    for (name, property) in fields(map, "properties") {
        let properties = at.child("properties");
        node(property, Level::Field, &properties.key(name), errors);
    }
    if let Some(additional) = map.get("additionalProperties") {
        let at = at.child("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(at, "must not be used at the root"));
        }
        if let Some(additional) = additional.as_object() {
            node(additional, Level::Field, &at, errors);
        }
    }
    extensions(map, at, errors);
    let skip = Skip {
        any_of: is_int_or_string(map.get("anyOf")),
        first_all_of: map
            .get("allOf")
            .and_then(|all| all.get(0))
            .is_some_and(|first| is_int_or_string(first.get("anyOf"))),
    };
    validations(map, skip, at, errors);
    types(map, level, at, errors);
}

fn types(map: &Json, level: Level, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let kind = text(map, "type");
    let embedded = is_true(map, "x-kubernetes-embedded-resource");
    let preserve = is_true(map, "x-kubernetes-preserve-unknown-fields");
    if embedded && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        let at = at.child("type");
        errors.push(if kind.is_empty() {
            FieldError::required(at, detail)
        } else {
            FieldError::invalid(at, kind, detail)
        });
    } else if kind.is_empty() && !is_true(map, "x-kubernetes-int-or-string") && !preserve {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(at.child("type"), detail));
    }
    if embedded && map.contains_key("additionalProperties") {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(
            at.child("additionalProperties"),
            detail,
        ));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        let detail = "must be object at the root";
        errors.push(FieldError::invalid(at.child("type"), kind, detail));
    }
    let is_resource = level == Level::Root || embedded;
    let properties = object(map, "properties");
    if is_resource {
        for name in ["kind", "apiVersion"] {
            let Some(property) = properties.and_then(|p| object(p, name)) else {
                continue;
            };
            let found = text(property, "type");
            if found != "string" {
                let at = at.child("properties");
                let at = at.key(name);
                errors.push(FieldError::invalid(
                    at.child("type"),
                    found,
                    "must be string",
                ));
            }
        }
    }
    if let Some(metadata) = properties.and_then(|p| object(p, "metadata")) {
        let at = at.child("properties");
        let at = at.key("metadata");
        let found = text(metadata, "type");
        if is_resource && found != "object" {
            errors.push(FieldError::invalid(
                at.child("type"),
                found,
                "must be object",
            ));
        }
        if level == Level::Root && !is_plain_metadata(metadata) {
            let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.push(FieldError::forbidden(at, detail));
        }
    }
    if embedded && !preserve && properties.is_none_or(Map::is_empty) {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(at.child("properties"), detail));
    }
}

/// Whether the schema of `metadata` restricts only names. A description does not count.
fn is_plain_metadata(metadata: &Json) -> bool {
    metadata.iter().all(|(key, value)| match key.as_str() {
        "type" | "default" => true,
        "properties" => value.as_object().is_some_and(|properties| {
            properties
                .keys()
                .all(|name| matches!(name.as_str(), "name" | "generateName"))
        }),
        _ => false,
    })
}

fn extensions(map: &Json, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if !is_true(map, "x-kubernetes-int-or-string") {
        return;
    }
    for name in [
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
    ] {
        if is_true(map, name) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(at.child(name), true, detail));
        }
    }
}

fn is_int_or_string(any_of: Option<&Value>) -> bool {
    any_of == Some(&json!([{"type": "integer"}, {"type": "string"}]))
}

/// The forms in which an int-or-string may state its types.
#[derive(Clone, Copy, Default)]
struct Skip {
    any_of: bool,
    first_all_of: bool,
}

fn validations(map: &Json, skip: Skip, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    for junctor in ["anyOf", "allOf", "oneOf"] {
        if junctor == "anyOf" && skip.any_of {
            continue;
        }
        let path = at.child(junctor);
        for (i, inner) in list(map, junctor) {
            let skip = Skip {
                any_of: junctor == "allOf" && i == 0 && skip.first_all_of,
                first_all_of: false,
            };
            nested(inner, skip, &path.index(i), errors);
        }
    }
    if let Some(inner) = object(map, "not") {
        nested(inner, Skip::default(), &at.child("not"), errors);
    }
    let pattern = text(map, "pattern");
    if let Err(error) = regex::Regex::new(&crate::schema::pattern::go_pattern(pattern)) {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().to_owned();
        let detail = format!("must be a valid regular expression, but isn't: {reason}");
        errors.push(FieldError::invalid(at.child("pattern"), pattern, detail));
    }
}

/// Inside a junctor a schema may only validate values and may not specify fields.
fn nested(map: &Json, skip: Skip, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    validations(map, skip, at, errors);
    if let Some(items) = object(map, "items") {
        nested(items, Skip::default(), &at.child("items"), errors);
    }
    let properties = at.child("properties");
    for (name, property) in fields(map, "properties") {
        nested(property, Skip::default(), &properties.key(name), errors);
    }
    for (name, value) in map {
        let is_set = match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        };
        let detail = match name.as_str() {
            "type"
            | "title"
            | "description"
            | "x-kubernetes-list-map-keys"
            | "x-kubernetes-validations" => "must be empty to be structural",
            "additionalProperties"
            | "default"
            | "x-kubernetes-list-type"
            | "x-kubernetes-map-type" => "must be undefined to be structural",
            "nullable"
            | "x-kubernetes-preserve-unknown-fields"
            | "x-kubernetes-embedded-resource"
            | "x-kubernetes-int-or-string" => "must be false to be structural",
            _ => continue,
        };
        if is_set {
            errors.push(FieldError::forbidden(at.child(name), detail));
        }
    }
    if object(map, "properties").is_some_and(|p| p.contains_key("metadata")) {
        let detail = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(properties.key("metadata"), detail));
    }
}
