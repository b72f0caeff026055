//! Objects within objects: `x-kubernetes-embedded-resource`.

use serde_json::Value;

use super::error::{FieldError, FieldErrorKind};
use super::node::{Node, Schema};
use super::path::FieldPath;
use crate::go;
use crate::names;

/// The first type error in the `apiVersion`, `kind` and `metadata` of an embedded object. The server does not decode
/// such an object.
pub(super) fn undecodable(
    schema: &Schema,
    value: &Value,
    at: &FieldPath<'_>,
) -> Option<FieldError> {
    let node = schema.node();
    if node.embedded_resource {
        for field in ["apiVersion", "kind"] {
            if let Some(value) = value.get(field).filter(|value| !value.is_string()) {
                let at = at.child(field);
                return Some(FieldError::invalid(at, value.clone(), "must be a string"));
            }
        }
        if let Some(metadata) = value.get("metadata")
            && let Some(wrong) = go::metadata_mistyped(metadata)
        {
            let at = at.child("metadata");
            let wrong = wrong.to_string();
            return Some(FieldError::invalid(at, metadata.clone(), wrong));
        }
    }
    let mut found = None;
    children(node, value, at, &mut |schema, value, at| {
        found = found.take().or_else(|| undecodable(schema, value, at));
    });
    found
}

/// Checks that an embedded object has a valid `apiVersion` and `kind`.
pub(super) fn validate(
    schema: &Schema,
    value: &Value,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let node = schema.node();
    if node.embedded_resource && value.is_object() {
        for field in ["apiVersion", "kind"] {
            let at = at.child(field);
            match value.get(field) {
                None => errors.push(FieldError::new(FieldErrorKind::Required, at, None, "")),
                Some(Value::String(text)) if text.is_empty() => {
                    errors.push(FieldError::invalid(at, "", "must not be empty"));
                }
                Some(Value::String(text)) => wrong_text(field, text, &at, errors),
                Some(other) => {
                    errors.push(FieldError::invalid(at, other.clone(), "must be a string"));
                }
            }
        }
    }
    children(node, value, at, &mut |schema, value, at| {
        validate(schema, value, at, errors);
    });
}

fn wrong_text(field: &str, text: &str, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let detail = if field == "kind" {
        let wrong = names::dns_1035_label(&text.to_lowercase());
        if wrong.is_empty() {
            return;
        }
        let wrong = wrong.join(",");
        format!("may have mixed case, but should otherwise match: {wrong}")
    } else if text.matches('/').count() > 1 {
        format!("unexpected GroupVersion string: {text}")
    } else {
        return;
    };
    errors.push(FieldError::invalid(at, text, detail));
}

/// Calls `visit` for the parts of a value that have a schema.
fn children(
    node: &Node,
    value: &Value,
    at: &FieldPath<'_>,
    visit: &mut dyn FnMut(&Schema, &Value, &FieldPath<'_>),
) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = node.properties.get(name.as_str()) {
                    visit(schema, value, &at.child(name));
                } else if let Some(schema) = node.entries() {
                    visit(schema, value, &at.key(name));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(schema) = &node.items {
                    visit(schema, item, &at.index(index));
                }
            }
        }
        _ => {}
    }
}
