use serde_json::Value;

use crate::schema::FieldError;

/// The value at a JSON pointer, or null.
pub(super) fn at<'a>(object: &'a Value, pointer: &str) -> &'a Value {
    object.pointer(pointer).unwrap_or(&Value::Null)
}

pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    at(object, pointer).as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    at(object, pointer).as_str().unwrap_or_default()
}

pub(super) fn map<'a>(
    object: &'a Value,
    pointer: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    at(object, pointer).as_object().into_iter().flatten()
}

/// Refuses a number below zero.
pub(super) fn not_negative(object: &Value, pointer: &str, found: &mut Vec<FieldError>) {
    let value = at(object, pointer);
    if value.as_i64().is_some_and(|number| number < 0) {
        found.push(FieldError::invalid(
            dotted(pointer),
            value.clone(),
            "must be greater than or equal to 0",
        ));
    }
}

/// Refuses a changed value.
pub(super) fn immutable(object: &Value, old: &Value, pointer: &str, found: &mut Vec<FieldError>) {
    let value = at(object, pointer);
    if value != at(old, pointer) {
        found.push(FieldError::invalid(
            dotted(pointer),
            value.clone(),
            "field is immutable",
        ));
    }
}

/// `/spec/replicas` as `spec.replicas`.
pub(super) fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

/// Refuses an invalid port number at `field`.
pub(super) fn port_number(value: &Value, field: &str, found: &mut Vec<FieldError>) {
    if !value
        .as_i64()
        .is_some_and(|port| (1..=65535).contains(&port))
    {
        let detail = "must be between 1 and 65535, inclusive";
        found.push(FieldError::invalid(field, value.clone(), detail));
    }
}

/// Refuses an unknown protocol of a port.
pub(super) fn protocol(port: &Value, field: &str, found: &mut Vec<FieldError>) {
    const KNOWN: [&str; 3] = ["SCTP", "TCP", "UDP"];
    let protocol = text(port, "/protocol");
    if !protocol.is_empty() && !KNOWN.contains(&protocol) {
        let field = format!("{field}.protocol");
        found.push(FieldError::not_supported(field, protocol, KNOWN));
    }
}
