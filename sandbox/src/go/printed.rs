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
                Some(number_with_point) if number.is_f64() => float(number_with_point, out),
                _ => write!(out, "{number}"),
            },
            Value::Bool(flag) => write!(out, "{flag}"),
        }
    }
}

/// Prints a float with the fewest digits: a whole one without a fraction, and one of seven digits and more with an exponent.
fn float(float: f64, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return write!(out, "{float}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "{digits}e{sign}{:02}", exponent.abs())
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
        let floats = json!([
            1e308,
            1e6,
            12_345_678.9,
            123_456.0,
            1.5,
            1e-4,
            1.234e-7,
            -2.5e25
        ]);
        let text = Printed(&floats).to_string();
        assert_eq!(
            text,
            "[1e+308 1e+06 1.23456789e+07 123456 1.5 0.0001 1.234e-07 -2.5e+25]"
        );
        let value = json!({"a": ["x", 1]});
        let text = Source(&value).to_string();
        assert_eq!(
            text,
            r#"map[string]interface {}{"a":[]interface {}{"x", 1}}"#
        );
    }
}
