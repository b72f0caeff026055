use std::fmt::{self, Write};

use serde_json::Value;

/// Prints a value like Go's `%v`: `map[a:1 b:[x y]]`, strings without quotes.
pub(crate) struct Printed<'a>(pub(crate) &'a Value);

impl fmt::Display for Printed<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => out.write_str("<nil>"),
            Value::String(text) => out.write_str(text),
            Value::Array(items) => {
                out.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    let space = if index == 0 { "" } else { " " };
                    write!(out, "{space}{}", Printed(item))?;
                }
                out.write_char(']')
            }
            Value::Object(fields) => {
                out.write_str("map[")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let space = if index == 0 { "" } else { " " };
                    write!(out, "{space}{name}:{}", Printed(value))?;
                }
                out.write_char(']')
            }
            Value::Number(number) => match number.as_f64() {
                // A whole float is printed without a fraction.
                Some(float) if number.is_f64() => write!(out, "{float}"),
                _ => write!(out, "{number}"),
            },
            Value::Bool(flag) => write!(out, "{flag}"),
        }
    }
}

/// Prints a value like Go's `%#v`: as Go source.
pub(crate) struct Source<'a>(pub(crate) &'a Value);

impl fmt::Display for Source<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = dynamic_type(self.0);
        match self.0 {
            Value::String(text) => write!(out, "{text:?}"),
            Value::Array(items) => {
                write!(out, "{kind}{{")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(out, "{comma}{}", Source(item))?;
                }
                out.write_char('}')
            }
            Value::Object(fields) => {
                write!(out, "{kind}{{")?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(out, "{comma}{name:?}:{}", Source(value))?;
                }
                out.write_char('}')
            }
            other => Printed(other).fmt(out),
        }
    }
}

/// The name of a JSON type in the errors of Go's JSON decoder.
pub(crate) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The Go type that a value is decoded to if no type is given.
pub(crate) fn dynamic_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_printed_as_go_prints_them() {
        let value = json!({"b": [1, "x", null], "a": {"c": 2.0, "d": true}});
        let text = Printed(&value).to_string();
        assert_eq!(text, "map[a:map[c:2 d:true] b:[1 x <nil>]]");
        let value = json!({"a": ["x", 1]});
        let text = Source(&value).to_string();
        assert_eq!(
            text,
            r#"map[string]interface {}{"a":[]interface {}{"x", 1}}"#
        );
    }
}
