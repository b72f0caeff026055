use jiff::Timestamp;
use serde_json::{Number, Value};

use super::JsonPath;
use super::cells::since;
use crate::registry::Column;

/// The cell of a column of a CustomResourceDefinition: null if the value is missing or has another type.
pub(super) fn cell(
    column: &Column,
    path: Option<&JsonPath>,
    object: &Value,
    now: Timestamp,
) -> Value {
    let found = path.and_then(|path| path.first(object));
    match (column.kind.as_str(), found) {
        (_, None | Some(Value::Null)) => Value::Null,
        ("string", Some(Value::String(text))) => Value::from(text.as_str()),
        ("string", Some(other)) => Value::from(other.to_string()),
        ("integer", Some(Value::Number(number))) => integer(number),
        ("number", Some(Value::Number(number))) => Value::Number(number.clone()),
        ("boolean", Some(Value::Bool(flag))) => Value::Bool(*flag),
        ("date", Some(Value::String(text))) => {
            let time = text.parse().ok();
            let shown = match time {
                Some(_) => since(time, now),
                None => "<invalid>".to_owned(),
            };
            Value::from(shown)
        }
        _ => Value::Null,
    }
}

fn integer(number: &Number) -> Value {
    match number.as_i64() {
        Some(number) => Value::from(number),
        // A fraction is cut off.
        None => number
            .as_f64()
            .map_or(Value::Null, |number| Value::from(number as i64)),
    }
}
