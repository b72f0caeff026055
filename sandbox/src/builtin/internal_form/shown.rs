use std::fmt;

use serde_json::{Map, Value};

use super::types::{Field, fields};

/// A value in the form of its type.
pub(super) enum Shown {
    /// JSON.
    Plain(String),
    List(Vec<Shown>),
    Object(Vec<(String, Shown)>),
}

/// A value of the internal struct `name`.
pub(super) fn of_type(name: &str, value: &Value) -> Shown {
    let Some(fields) = fields(name) else {
        return plain(value);
    };
    let shown = fields.iter().filter_map(|field| {
        // The internal types of templates have the metadata in themselves.
        let inner = value.get("metadata").filter(|_| field.shown == field.name);
        let mut objects = [Some(value), inner].into_iter().flatten();
        let found = objects.find_map(|object| find(object.as_object()?, field));
        if field.optional && found.is_none_or(is_empty) {
            return None;
        }
        let found = found.unwrap_or(&Value::Null);
        Some((field.shown.clone(), of_kind(&field.kind, found)))
    });
    Shown::Object(shown.collect())
}

/// The API writes some names with other letters in upper case.
fn find<'a>(object: &'a Map<String, Value>, field: &Field) -> Option<&'a Value> {
    let exact = object.get(&field.name);
    exact.or_else(|| {
        let mut others = object.iter();
        let same = others.find(|(name, _)| name.eq_ignore_ascii_case(&field.name));
        same.map(|(_, value)| value)
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(flag) => !flag,
    }
}

fn of_kind(kind: &str, value: &Value) -> Shown {
    if let Some(kind) = kind.strip_prefix('*') {
        return match value {
            Value::Null => plain(value),
            value => of_kind(kind, value),
        };
    }
    if let Some(name) = kind.strip_prefix('@') {
        return of_type(name, value);
    }
    if let Some(inner) = kind.strip_prefix("[]") {
        return match value {
            Value::Array(items) => {
                let items = items.iter().map(|item| of_kind(inner, item));
                Shown::List(items.collect())
            }
            value => plain(value),
        };
    }
    if let Some(inner) = kind.strip_prefix("{}") {
        return match value {
            Value::Object(entries) => {
                let entries = entries.iter();
                let shown = entries.map(|(key, value)| (key.clone(), of_kind(inner, value)));
                Shown::Object(shown.collect())
            }
            value => plain(value),
        };
    }
    match (kind, value) {
        ("string", Value::Null) => Shown::Plain("\"\"".into()),
        ("bool", Value::Null) => Shown::Plain("false".into()),
        ("int" | "#IntOrString", Value::Null) => Shown::Plain("0".into()),
        ("#Quantity", Value::Null) => Shown::Plain("\"0\"".into()),
        (_, value) => plain(value),
    }
}

/// Go escapes what HTML gives a meaning.
fn plain(value: &Value) -> Shown {
    Shown::Plain(escaped(value.to_string()))
}

fn escaped(json: String) -> String {
    if !json.contains(['<', '>', '&']) {
        return json;
    }
    let json = json.replace('<', "\\u003c").replace('>', "\\u003e");
    json.replace('&', "\\u0026")
}

fn key(name: &str) -> String {
    escaped(Value::from(name).to_string())
}

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(json) => out.write_str(json),
            Self::List(items) => {
                out.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(out, "{comma}{item}")?;
                }
                out.write_str("]")
            }
            Self::Object(fields) => {
                out.write_str("{")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(out, "{comma}{}:{value}", key(name))?;
                }
                out.write_str("}")
            }
        }
    }
}

impl Shown {
    /// The value on several lines. A deeper line has one more space.
    pub(super) fn indented(&self) -> String {
        let mut out = String::new();
        self.write(1, &mut out);
        out
    }

    fn write(&self, depth: usize, out: &mut String) {
        let line = |depth: usize, out: &mut String| {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', depth));
        };
        match self {
            Self::List(items) if !items.is_empty() => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    line(depth, out);
                    item.write(depth + 1, out);
                }
                line(depth - 1, out);
                out.push(']');
            }
            Self::Object(fields) if !fields.is_empty() => {
                out.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    line(depth, out);
                    out.push_str(&key(name));
                    out.push_str(": ");
                    value.write(depth + 1, out);
                }
                line(depth - 1, out);
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_has_the_fields_of_its_internal_type_in_their_order() {
        let taint = json!({"key": "a", "effect": "NoSchedule"});
        assert_eq!(
            of_type("core.Taint", &taint).to_string(),
            r#"{"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}"#
        );
        let spec = json!({"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}});
        assert_eq!(
            of_type("policy.PodDisruptionBudgetSpec", &spec).to_string(),
            r#"{"MinAvailable":null,"Selector":{"matchLabels":{"a":"b"}},"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}"#
        );
    }

    #[test]
    fn lines_are_indented_by_a_space() {
        let reference = json!({"kind": "Role", "name": "<a>", "apiGroup": "g"});
        assert_eq!(
            of_type("rbac.RoleRef", &reference).indented(),
            "{\n \"APIGroup\": \"g\",\n \"Kind\": \"Role\",\n \"Name\": \"\\u003ca\\u003e\"\n}"
        );
    }
}
