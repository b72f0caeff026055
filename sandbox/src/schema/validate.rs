use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::correlated::Correlated;
use super::error::{FieldError, FieldErrorKind, number};
use super::format;
use super::node::{Additional, Checks, Node, Schema, SchemaType};
use super::path::FieldPath;

/// Validates a value as OpenAPI v3 does, with the messages of the API server. A part that did not change since `old` has no
/// errors.
pub(super) fn validate(
    schema: &Schema,
    value: &Value,
    old: Option<Correlated<'_>>,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let before = errors.len();
    validate_anew(schema, value, old, at, errors);
    if errors.len() > before && old.is_some_and(|old| old.is_unchanged()) {
        errors.truncate(before);
    }
}

/// Validates a value of which only the parts may be unchanged.
fn validate_anew(
    schema: &Schema,
    value: &Value,
    old: Option<Correlated<'_>>,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let node = schema.node();
    if value.is_null() && node.nullable {
        // Whether null is allowed does not make it a value of an enum.
        if let Some(checks) = &node.checks {
            check_allowed(checks, value, at, errors);
        }
        return;
    }
    check_type(node, value, at, errors);
    if let Some(checks) = &node.checks {
        if !value.is_null() {
            combine(checks, value, at, errors);
        }
        match value {
            Value::String(text) => check_text(checks, text, at, errors),
            Value::Number(n) => check_number(node, checks, n, at, errors),
            Value::Array(items) => check_length(checks, value, items, at, errors),
            _ => {}
        }
        check_allowed(checks, value, at, errors);
    }
    match value {
        Value::Array(items) => {
            if let Some(schema) = &node.items {
                for (i, item) in items.iter().enumerate() {
                    let old = old.and_then(|old| old.index(i));
                    validate(schema, item, old, &at.index(i), errors);
                }
            }
        }
        Value::Object(map) => {
            check_fields(node, map, at, errors);
            for (name, value) in map {
                if let Some(schema) = node.field(name) {
                    let old = old.and_then(|old| old.field(name));
                    validate(schema, value, old, &at.child(name), errors);
                }
            }
        }
        _ => {}
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if integer(n).is_some() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The number as an integer in any notation. Returns `None` if it is not whole.
pub(super) fn integer(n: &Number) -> Option<i64> {
    n.as_i64().or_else(|| {
        let x = n.as_f64()?;
        let fits = x.fract() == 0.0 && x >= i64::MIN as f64 && x < i64::MAX as f64;
        fits.then_some(x as i64)
    })
}

fn wrong_type(
    at: &FieldPath<'_>,
    wanted: &str,
    found: &str,
    value: impl Into<Value>,
) -> FieldError {
    let detail = format!("{} in body must be of type {wanted}: {found:?}", at.bare());
    FieldError::new(FieldErrorKind::TypeInvalid, at, Some(value.into()), detail)
}

/// The format that a value has without a schema.
fn own_format(value: &Value) -> &'static str {
    match value {
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        _ => "",
    }
}

fn check_type(node: &Node, value: &Value, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let found = type_name(value);
    let format = node
        .checks
        .as_ref()
        .and_then(|checks| checks.format.as_deref());
    let numeric = matches!(node.kind, Some(SchemaType::Integer | SchemaType::Number));
    if let (Some(format), Some(wanted)) = (format, node.kind) {
        let fits = wanted.name() == found || (numeric && found == "integer");
        match value {
            Value::Null => {}
            // A string with a format is validated by the format alone.
            Value::String(_) | Value::Array(_) if !numeric => return,
            Value::String(_) | Value::Array(_) => {}
            _ if fits || own_format(value) == format => {}
            _ => {
                let found = own_format(value);
                errors.push(wrong_type(at, format, found, found));
                return;
            }
        }
    }
    if node.int_or_string {
        if !matches!(found, "integer" | "string") {
            errors.push(wrong_type(at, "integer,string", found, found));
        }
        return;
    }
    let Some(wanted) = node.kind else { return };
    let fits = match wanted {
        SchemaType::Number => matches!(found, "number" | "integer"),
        SchemaType::Integer => match value {
            Value::Number(n) => n.is_u64() || integer(n).is_some(),
            _ => false,
        },
        _ => wanted.name() == found,
    };
    if !fits {
        errors.push(wrong_type(at, wanted.name(), found, found));
    }
}

fn invalid(at: &FieldPath<'_>, value: &Value, text: String) -> FieldError {
    FieldError::invalid(at, value.clone(), format!("{} in body {text}", at.bare()))
}

fn check_text(checks: &Checks, text: &str, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let value = || Value::String(text.to_owned());
    let length = text.chars().count() as u64;
    // Only the first of the three is reported.
    if let Some(max) = checks.max_length.filter(|max| length > *max) {
        errors.push(FieldError::too_long(at, max));
    } else if let Some(min) = checks.min_length.filter(|min| length < *min) {
        let text = format!("should be at least {min} chars long");
        errors.push(invalid(at, &value(), text));
    } else if let Some((source, regex)) = &checks.pattern
        && !regex.is_match(text)
    {
        let detail = format!("should match '{source}'");
        errors.push(invalid(at, &value(), detail));
    }
    if let Some(format) = &checks.format
        && !format::is_valid(format, text)
    {
        errors.push(wrong_type(at, format, text, text));
    }
}

fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn check_number(
    node: &Node,
    checks: &Checks,
    n: &Number,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let value = Value::Number(n.clone());
    check_range(node, checks, n, at, errors);
    if let Some(factor) = &checks.multiple_of {
        if let Some(factor) = whole_factor(n, factor).filter(|factor| *factor <= 0) {
            let detail = format!(
                "factor MultipleOf declared for {} must be positive: {factor}",
                at.bare()
            );
            errors.push(FieldError::invalid(at, value.clone(), detail));
        } else if !is_multiple(n, factor) {
            let text = format!("should be a multiple of {}", number(factor));
            errors.push(invalid(at, &value, text));
        }
    }
    if let Some(min) = &checks.minimum {
        let order = compare(n, min);
        if checks.exclusive_minimum && matches!(order, Some(Ordering::Less | Ordering::Equal)) {
            let text = format!("should be greater than {}", number(min));
            errors.push(invalid(at, &value, text));
        } else if order == Some(Ordering::Less) {
            let text = format!("should be greater than or equal to {}", number(min));
            errors.push(invalid(at, &value, text));
        }
    }
    if let Some(max) = &checks.maximum {
        let order = compare(n, max);
        if checks.exclusive_maximum && matches!(order, Some(Ordering::Greater | Ordering::Equal)) {
            let text = format!("should be less than {}", number(max));
            errors.push(invalid(at, &value, text));
        } else if order == Some(Ordering::Greater) {
            let text = format!("should be less than or equal to {}", number(max));
            errors.push(invalid(at, &value, text));
        }
    }
}

/// Checks that a number fits the type and format of its schema. The server reports this without a field.
fn check_range(
    node: &Node,
    checks: &Checks,
    n: &Number,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let format = checks.format.as_deref();
    let format = match node.kind {
        Some(SchemaType::Integer) => format.filter(|format| matches!(*format, "int32" | "int64")),
        Some(SchemaType::Number) => format.filter(|format| matches!(*format, "float" | "double")),
        _ => return,
    };
    let fits = match format {
        Some(format) => format::fits(format, n.as_f64().unwrap_or(f64::MAX), integer(n)),
        None => node.kind == Some(SchemaType::Number) || integer(n).is_some(),
    };
    if fits {
        return;
    }
    let kind = node.kind.map_or("", SchemaType::name);
    let format = match format {
        Some(format) => format!("with format {format}"),
        None => "(default format)".into(),
    };
    let detail = format!(
        "Checked value must be of type {kind} {format} in {}",
        at.bare()
    );
    errors.push(FieldError::invalid(FieldPath::Root, "", detail));
}

/// The factor for an integer: without its fraction.
fn whole_factor(n: &Number, factor: &Number) -> Option<i64> {
    if n.is_f64() {
        return None;
    }
    factor
        .as_i64()
        .or_else(|| Some(factor.as_f64()?.trunc() as i64))
}

fn is_multiple(n: &Number, factor: &Number) -> bool {
    if let (Some(n), Some(factor)) = (integer(n), integer(factor)) {
        return factor != 0 && n % factor == 0;
    }
    match (n.as_f64(), factor.as_f64()) {
        (Some(n), Some(factor)) if factor > 0.0 => {
            let times = n / factor;
            (times - times.round()).abs() < 1e-9
        }
        _ => false,
    }
}

fn check_length(
    checks: &Checks,
    value: &Value,
    items: &[Value],
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let length = items.len();
    if let Some(min) = checks.min_items.filter(|min| (length as u64) < *min) {
        let text = format!("should have at least {min} items");
        errors.push(invalid(at, &length.into(), text));
    }
    if let Some(max) = checks.max_items.filter(|max| length as u64 > *max) {
        errors.push(FieldError::too_many(at, length, max));
    }
    if checks.unique_items {
        let twice = (1..length).any(|i| items[..i].contains(&items[i]));
        if twice {
            errors.push(invalid(at, value, "shouldn't contain duplicates".into()));
        }
    }
}

fn check_allowed(checks: &Checks, value: &Value, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let same = |allowed: &Value| match (allowed, value) {
        // A real server compares no null, so an enum that lists null refuses it, too.
        (Value::Null, _) => false,
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        _ => allowed == value,
    };
    if checks.allowed.is_empty() || checks.allowed.iter().any(same) {
        return;
    }
    let names: Vec<String> = checks
        .allowed
        .iter()
        .map(|v| match v {
            Value::String(s) => s.clone(),
            other => other.to_string(),
        })
        .collect();
    errors.push(FieldError::not_supported(
        at,
        value.clone(),
        names.iter().map(String::as_str),
    ));
}

fn check_fields(
    node: &Node,
    map: &serde_json::Map<String, Value>,
    at: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    if matches!(node.additional, Some(Additional::None)) {
        for name in map
            .keys()
            .filter(|n| !node.properties.contains_key(n.as_str()))
        {
            let at = at.child(name);
            let detail = format!("{at} in body is a forbidden property");
            errors.push(FieldError::invalid(at, "", detail));
        }
    }
    let Some(checks) = &node.checks else { return };
    let length = map.len();
    if let Some(min) = checks.min_properties.filter(|min| (length as u64) < *min) {
        let text = format!("should have at least {min} properties");
        errors.push(invalid(at, &length.into(), text));
    }
    if let Some(max) = checks.max_properties.filter(|max| length as u64 > *max) {
        errors.push(FieldError::too_many(at, length, max));
    }
    for name in checks.required.iter().filter(|n| !map.contains_key(&***n)) {
        errors.push(FieldError::required(at.child(name), ""));
    }
}

/// Checks `allOf`, `anyOf`, `oneOf` and `not`. Inside of them a part that did not change counts as changed.
fn combine(checks: &Checks, value: &Value, at: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let run = |schema: &Schema| {
        let mut errors = Vec::new();
        validate(schema, value, None, at, &mut errors);
        errors
    };
    let whole = |text: String| {
        let name = at.bare();
        // The server reports these at the root and names the field in the text.
        FieldError::invalid(FieldPath::Root, "", format!("{name:?} {text}"))
    };
    if !checks.any_of.is_empty() {
        let results: Vec<_> = checks.any_of.iter().map(run).collect();
        if results.iter().all(|r| !r.is_empty()) {
            errors.push(whole("must validate at least one schema (anyOf)".into()));
            errors.extend(nearest(results));
        }
    }
    if !checks.one_of.is_empty() {
        let results: Vec<_> = checks.one_of.iter().map(run).collect();
        match results.iter().filter(|r| r.is_empty()).count() {
            1 => {}
            0 => {
                let text = "must validate one and only one schema (oneOf). Found none valid";
                errors.push(whole(text.into()));
                errors.extend(nearest(results));
            }
            n => errors.push(whole(format!(
                "must validate one and only one schema (oneOf). Found {n} valid alternatives"
            ))),
        }
    }
    if !checks.all_of.is_empty() {
        let results: Vec<_> = checks.all_of.iter().map(run).collect();
        let failed = results.iter().filter(|r| !r.is_empty()).count();
        if failed > 0 {
            let none = if failed == results.len() {
                ". None validated"
            } else {
                ""
            };
            let text = format!("must validate all the schemas (allOf){none}");
            errors.extend(results.into_iter().flatten());
            errors.push(whole(text));
        }
    }
    if let Some(schema) = &checks.not
        && run(schema).is_empty()
    {
        errors.push(whole("must not validate the schema (not)".into()));
    }
}

/// The errors of the alternative that fits best.
fn nearest(results: Vec<Vec<FieldError>>) -> Vec<FieldError> {
    results.into_iter().min_by_key(Vec::len).unwrap_or_default()
}
