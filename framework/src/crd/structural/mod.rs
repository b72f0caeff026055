//! From what schemars says to what Kubernetes accepts: a *structural* schema has one type at each
//! place, no references, and value validations that never describe structure (Kubernetes
//! documentation, "Specifying a structural schema").
//!
//! `node` rewrites one place and those within it, `union` joins the variants of enums, `number`
//! translates Rust's integer formats, `default` keeps defaults that the API server would refuse
//! from leaving the program.

mod default;
mod node;
mod number;
mod union;

use serde_json::Value;

/// Why a schema cannot be structural, and where.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) path: String,
    pub(super) text: String,
}

impl Problem {
    fn new(path: &str, text: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            text: text.into(),
        }
    }
}

/// The structural form of `schema`, which stands at `path` of an object.
pub(super) fn rewrite(schema: Value, path: &str) -> Result<Value, Problem> {
    node::rewrite(schema, path).map(Value::Object)
}

/// Cuts every description after `max` characters; 0 drops them.
pub(super) fn limit_descriptions(schema: &mut Value, max: usize) {
    let Value::Object(map) = schema else { return };
    match map.get_mut("description") {
        Some(Value::String(_)) if max == 0 => {
            map.remove("description");
        }
        Some(Value::String(text)) => {
            if let Some((at, _)) = text.char_indices().nth(max) {
                text.truncate(at);
            }
        }
        _ => {}
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for property in properties.values_mut() {
            limit_descriptions(property, max);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(key) {
            limit_descriptions(inner, max);
        }
    }
}
