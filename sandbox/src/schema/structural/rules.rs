use serde_json::{Map, Value, json};

use super::json::{fields, is_true, object, text};
use crate::schema::error::FieldError;
use crate::schema::path::FieldPath;
use crate::schema::rule::Rule;
use crate::schema::rule_fields;

type Json = Map<String, Value>;

/// Compiles every rule. `uncorrelated` is the list or map in which old and new values cannot be matched.
pub(super) fn check(
    map: &Json,
    at: &FieldPath<'_>,
    is_root: bool,
    uncorrelated: Option<&str>,
    errors: &mut Vec<FieldError>,
) {
    let rules = map
        .get("x-kubernetes-validations")
        .and_then(Value::as_array);
    for (i, json) in rules.into_iter().flatten().enumerate() {
        let at = at.child("x-kubernetes-validations");
        let at = at.index(i);
        let checked = Rule::read(json).and_then(|rule| {
            rule_fields::check_fields(map, is_root, &rule)?;
            Ok(rule)
        });
        match checked {
            Ok(rule) => old_self(&rule, json, &at, uncorrelated, errors),
            Err(error) => errors.push(FieldError::invalid(
                at.child(error.member),
                shown(json),
                error.text,
            )),
        }
    }
    let here = at.to_string();
    let properties = at.child("properties");
    for (name, property) in fields(map, "properties") {
        check(property, &properties.key(name), false, uncorrelated, errors);
    }
    if let Some(additional) = object(map, "additionalProperties") {
        let at = at.child("additionalProperties");
        check(additional, &at, false, uncorrelated, errors);
    }
    if let Some(items) = object(map, "items") {
        let is_map = text(map, "x-kubernetes-list-type") == "map";
        let below = uncorrelated.or((!is_map).then_some(&*here));
        check(items, &at.child("items"), false, below, errors);
    }
}

fn old_self(
    rule: &Rule,
    json: &Value,
    at: &FieldPath<'_>,
    uncorrelated: Option<&str>,
    errors: &mut Vec<FieldError>,
) {
    if rule.uses_old_self {
        if let Some(place) = uncorrelated {
            let detail = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {place}"
            );
            let source = text_of(json, "rule");
            errors.push(FieldError::invalid(at.child("rule"), source, detail));
        }
    } else if let Some(map) = json
        .as_object()
        .filter(|m| m.contains_key("optionalOldSelf"))
    {
        let value = is_true(map, "optionalOldSelf");
        let detail = "may not be set if oldSelf is not used in rule";
        errors.push(FieldError::invalid(
            at.child("optionalOldSelf"),
            value,
            detail,
        ));
    }
}

/// A rule as errors show it: with the names of the server's internal type.
fn shown(json: &Value) -> Value {
    let text = |name: &str| json.get(name).and_then(Value::as_str).unwrap_or_default();
    json!({
        "Rule": text("rule"),
        "Message": text("message"),
        "MessageExpression": text("messageExpression"),
        "Reason": json.get("reason"),
        "FieldPath": text("fieldPath"),
        "OptionalOldSelf": json.get("optionalOldSelf"),
    })
}

fn text_of(json: &Value, name: &str) -> Value {
    json.get(name).cloned().unwrap_or(Value::Null)
}
