use std::collections::HashMap;
use std::sync::Arc;

use cel::Value;
use serde_json::Value as Json;

use super::cel as cel_rules;
use super::node::{Node, Schema, SchemaType};
use super::validate::integer;

/// Words that cannot be the name of a field in CEL.
const RESERVED: [&str; 18] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
];

/// Converts a JSON value to CEL: numbers by the type in the schema, dates and durations by the format. Field names are
/// escaped, keys of maps are not.
pub(super) fn convert(node: Option<&Node>, json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => match (node.and_then(|n| n.kind), integer(n)) {
            (Some(SchemaType::Number), _) | (None, None) => {
                Value::Float(n.as_f64().unwrap_or(f64::NAN))
            }
            (None, Some(_)) if n.is_f64() => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
            (_, Some(i)) => Value::Int(i),
            (_, None) => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(s) => text(node, s),
        Json::Array(items) => {
            let child = node.and_then(|n| n.items.as_ref()).map(Schema::node);
            Value::List(Arc::new(items.iter().map(|v| convert(child, v)).collect()))
        }
        Json::Object(map) => {
            let mut out: HashMap<String, Value> = HashMap::with_capacity(map.len());
            let is_resource = node.is_some_and(|n| n.embedded_resource);
            for (name, value) in map {
                let property = node.and_then(|n| n.properties.get(name.as_str()));
                if let Some(schema) = property {
                    let Some(key) = escape(name) else { continue };
                    out.insert(key, convert(Some(schema.node()), value));
                } else if let Some(schema) = node.and_then(Node::entries) {
                    out.insert(name.clone(), convert(Some(schema.node()), value));
                } else if node.is_none()
                    || (is_resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
                {
                    out.insert(name.clone(), convert(None, value));
                }
                // A kept but unknown field is not visible to rules.
            }
            out.into()
        }
    }
}

fn text(node: Option<&Node>, text: &str) -> Value {
    let format = node
        .and_then(|n| n.checks.as_ref())
        .and_then(|c| c.format.as_deref());
    let converted = match format {
        Some("date-time") => cel_rules::timestamp(text),
        Some("date") => cel_rules::timestamp(&format!("{text}T00:00:00Z")),
        Some("duration") => cel_rules::duration(text),
        Some("byte") => {
            use base64::Engine;
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok();
            bytes.map(|b| Value::Bytes(Arc::new(b)))
        }
        _ => None,
    };
    converted.unwrap_or_else(|| Value::String(Arc::new(text.to_owned())))
}

/// The name of a field in CEL. Returns `None` if it cannot have one.
pub(in crate::schema) fn escape(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match c {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            'a'..='z' | 'A'..='Z' | '_' => out.push(c),
            '0'..='9' if !out.is_empty() => out.push(c),
            _ => return None,
        }
        rest = &rest[c.len_utf8()..];
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_names_are_escaped() {
        let table = [
            ("replicas", Some("replicas")),
            ("a.b", Some("a__dot__b")),
            ("a-b", Some("a__dash__b")),
            ("a/b", Some("a__slash__b")),
            ("a__b", Some("a__underscores__b")),
            ("a_b", Some("a_b")),
            ("namespace", Some("__namespace__")),
            ("int", Some("int")),
            ("1a", None),
            ("ä", None),
        ];
        for (name, expected) in table {
            assert_eq!(escape(name).as_deref(), expected, "{name}");
        }
    }
}
