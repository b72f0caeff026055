use serde_json::{Map, Value};

use super::json::{fields, is_true, list, object, text};
use super::lists;
use crate::schema::error::FieldError;
use crate::schema::path::FieldPath;

type Json = Map<String, Value>;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Whether defaults are allowed at this place of the schema, and the reason if not.
#[derive(Clone, Copy, Default)]
struct Position<'a> {
    no_defaults: Option<&'a str>,
    in_metadata: bool,
}

/// Checks which keywords are used, and in which combinations.
pub(super) fn check(map: &Json, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    node(map, true, Position::default(), at, errors);
}

fn node(
    map: &Json,
    is_root: bool,
    place: Position<'_>,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    unsupported(map, place, at, errors);
    let properties = object(map, "properties");
    if let Some(additional) = map.get("additionalProperties") {
        let at = at.child("additionalProperties");
        if properties.is_some_and(|p| !p.is_empty()) && *additional != Value::Bool(true) {
            let detail = "additionalProperties and properties are mutual exclusive";
            errors.push(FieldError::forbidden(at, detail));
        }
        if let Some(additional) = additional.as_object() {
            let mut place = place;
            if place.in_metadata {
                place.no_defaults =
                    Some(" inside additionalProperties applying to object metadata");
            }
            node(additional, false, place, &at, errors);
        }
    }
    let is_resource = is_root || is_true(map, "x-kubernetes-embedded-resource");
    for (name, property) in fields(map, "properties") {
        let reason = format!(" in top-level {name}");
        let mut place = place;
        if is_resource && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
            place.in_metadata = true;
            if is_root {
                place.no_defaults = Some(&reason);
            }
        }
        node(
            property,
            false,
            place,
            &at.child("properties").key(name),
            errors,
        );
    }
    for junctor in ["allOf", "oneOf", "anyOf"] {
        for (i, inner) in list(map, junctor) {
            node(inner, false, place, &at.child(junctor).index(i), errors);
        }
    }
    for name in ["not", "items"] {
        if let Some(inner) = object(map, name) {
            node(inner, false, place, &at.child(name), errors);
        }
    }
    lists::check(map, at, errors);
    if let Some(rules) = map
        .get("x-kubernetes-validations")
        .and_then(Value::as_array)
    {
        let at = at.child("x-kubernetes-validations");
        for (i, rule) in rules.iter().enumerate() {
            if let Some(rule) = rule.as_object() {
                rule_members(map, rule, &at.index(i), errors);
            }
        }
    }
}

fn unsupported(map: &Json, place: Position<'_>, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let kind = text(map, "type");
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(at.child("type"), detail));
    }
    if !kind.is_empty() && !TYPES.contains(&kind) {
        errors.push(FieldError::not_supported(at.child("type"), kind, TYPES));
    }
    if map.get("default").is_some_and(|d| !d.is_null())
        && let Some(reason) = place.no_defaults
    {
        let detail = format!("must not be set{reason}");
        errors.push(FieldError::forbidden(at.child("default"), detail));
    }
    for name in [
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
    ] {
        if map.contains_key(name) {
            let detail = format!("{name} is not supported");
            errors.push(FieldError::forbidden(at.child(name), detail));
        }
    }
    if map.get("items").is_some_and(Value::is_array) {
        let detail = "items must be a schema object and not an array";
        errors.push(FieldError::forbidden(at.child("items"), detail));
    }
    if place.in_metadata && is_true(map, "x-kubernetes-embedded-resource") {
        let at = at.child("x-kubernetes-embedded-resource");
        errors.push(FieldError::forbidden(
            at,
            "must not be used inside of resource meta",
        ));
    }
    if is_true(map, "uniqueItems") {
        let detail =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(at.child("uniqueItems"), detail));
    }
    if map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let at = at.child("x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(at, false, "must be true or undefined"));
    }
}

fn rule_members(map: &Json, rule: &Json, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let is_blank = |name| rule.contains_key(name) && text(rule, name).trim().is_empty();
    let has_lines = |name| text(rule, name).trim().contains(['\n', '\r']);
    let given = |name| !text(rule, name).is_empty();
    if text(rule, "rule").trim().is_empty() {
        errors.push(FieldError::required(
            at.child("rule"),
            "rule is not specified",
        ));
    } else if given("message") && is_blank("message") {
        let value = text(rule, "message");
        let detail = "must be non-empty if specified";
        errors.push(FieldError::invalid(at.child("message"), value, detail));
    } else if has_lines("message") {
        let value = text(rule, "message");
        let detail = "must not contain line breaks";
        errors.push(FieldError::invalid(at.child("message"), value, detail));
    } else if has_lines("rule") && !given("message") {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(at.child("message"), detail));
    }
    if given("messageExpression") && is_blank("messageExpression") {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(at.child("messageExpression"), detail));
    }
    const REASONS: [&str; 4] = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    let reason = text(rule, "reason");
    if rule.contains_key("reason") && !REASONS.contains(&reason) {
        errors.push(FieldError::not_supported(
            at.child("reason"),
            reason,
            REASONS,
        ));
    }
    let field = text(rule, "fieldPath");
    if !field.is_empty() && !names_a_field(map, field.trim()) {
        let detail = "must be a valid path";
        errors.push(FieldError::invalid(at.child("fieldPath"), field, detail));
    }
}

/// Whether a `fieldPath` such as `.a.b['c']` names a field.
fn names_a_field(map: &Json, path: &str) -> bool {
    let mut here = map;
    let mut rest = path;
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix("['") {
            let Some((inside, after)) = after.split_once("']") else {
                return false;
            };
            (name, rest) = (inside, after);
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            (name, rest) = after.split_at(end);
        } else {
            return false;
        }
        let property = object(here, "properties").and_then(|p| object(p, name));
        match property.or_else(|| object(here, "additionalProperties")) {
            Some(inner) => here = inner,
            None => return false,
        }
    }
    true
}
