use serde_json::{Map, Value};

use super::{SchemaProblem, flag};

/// Removes nulls from the default at this place, and refuses a default that violates the schema, because the API server
/// would refuse the definition.
pub(super) fn check(map: &mut Map<String, Value>, path: &str) -> Result<(), SchemaProblem> {
    let Some(mut default) = map.remove("default") else {
        return Ok(());
    };
    without_nulls(&mut default);
    if default.is_null() {
        return Ok(());
    }
    if let Some(text) = violation(map, &default, "") {
        return Err(SchemaProblem::new(
            path,
            format!("serde's default violates the schema: {text}"),
        ));
    }
    map.insert("default".into(), default);
    Ok(())
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => {
            items.retain(|item| !item.is_null());
            items.iter_mut().for_each(without_nulls);
        }
        _ => {}
    }
}

/// Why `value` violates `schema`; `None` if it does not.
fn violation(schema: &Map<String, Value>, value: &Value, at: &str) -> Option<String> {
    let here = if at.is_empty() { "it" } else { at };
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.contains(value)
    {
        return Some(format!("{here} is not one of the allowed values"));
    }
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let exclusive = |key: &str| flag(schema, key);
    if let Some(value) = value.as_f64() {
        let low = number("minimum")
            .is_some_and(|min| value < min || (value == min && exclusive("exclusiveMinimum")));
        let high = number("maximum")
            .is_some_and(|max| value > max || (value == max && exclusive("exclusiveMaximum")));
        if low || high {
            let side = if low {
                "below `minimum`"
            } else {
                "above `maximum`"
            };
            return Some(format!("{here} is {side}"));
        }
    }
    let size = |min: &str, max: &str, size: usize| {
        let size = size as f64;
        (number(min).is_some_and(|min| size < min))
            .then_some("shorter")
            .or_else(|| (number(max).is_some_and(|max| size > max)).then_some("longer"))
    };
    let wrong_size = match value {
        Value::String(text) => size("minLength", "maxLength", text.chars().count()),
        Value::Array(items) => size("minItems", "maxItems", items.len()),
        Value::Object(map) => size("minProperties", "maxProperties", map.len()),
        _ => None,
    };
    if let Some(side) = wrong_size {
        return Some(format!("{here} is {side} than allowed"));
    }
    match value {
        Value::Array(items) => {
            let inner = schema.get("items")?.as_object()?;
            items
                .iter()
                .find_map(|item| violation(inner, item, &format!("{at}[]")))
        }
        Value::Object(map) => object_violation(schema, map, at),
        _ => None,
    }
}

fn object_violation(
    schema: &Map<String, Value>,
    map: &Map<String, Value>,
    at: &str,
) -> Option<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let has_default = |name: &str| {
        properties
            .and_then(|properties| properties.get(name)?.get("default"))
            .is_some()
    };
    if let Some(Value::Array(required)) = schema.get("required") {
        let missing = required
            .iter()
            .filter_map(Value::as_str)
            .find(|name| !map.contains_key(*name) && !has_default(name));
        if let Some(name) = missing {
            return Some(format!("{at}.{name} is missing"));
        }
    }
    map.iter().find_map(|(name, value)| {
        let inner = match properties.and_then(|properties| properties.get(name)) {
            Some(property) => property.as_object()?,
            None => schema.get("additionalProperties")?.as_object()?,
        };
        violation(inner, value, &format!("{at}.{name}"))
    })
}
