//! Cells and access to fields, for all printers. A missing field reads as empty: a table never fails.

use jiff::Timestamp;
use serde_json::Value;

use super::human_duration;

pub(super) const NONE: &str = "<none>";
pub(super) const UNKNOWN: &str = "<unknown>";

/// The text at a JSON pointer; empty if it is missing.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The text at a JSON pointer, or `otherwise` if it is missing or empty.
pub(super) fn text_or<'a>(object: &'a Value, pointer: &str, otherwise: &'a str) -> &'a str {
    match text(object, pointer) {
        "" => otherwise,
        found => found,
    }
}

/// The number at a JSON pointer, or 0.
pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    object
        .pointer(pointer)
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// The items of the list at a JSON pointer.
pub(super) fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// How many entries the map or list at a JSON pointer has.
pub(super) fn count(object: &Value, pointer: &str) -> usize {
    match object.pointer(pointer) {
        Some(Value::Object(fields)) => fields.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    }
}

/// The time at a JSON pointer.
pub(super) fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer).parse().ok()
}

/// How long ago a time was.
pub(super) fn since(time: Option<Timestamp>, now: Timestamp) -> String {
    time.map_or_else(
        || UNKNOWN.to_owned(),
        |time| human_duration(now.as_second() - time.as_second()),
    )
}

/// The age of an object.
pub(super) fn age(object: &Value, now: Timestamp) -> Value {
    since(time(object, "/metadata/creationTimestamp"), now).into()
}

/// `a,b`, or `<none>`.
pub(super) fn joined(parts: Vec<String>) -> String {
    if parts.is_empty() {
        NONE.to_owned()
    } else {
        parts.join(",")
    }
}

/// A map of labels as `a=b,c=d`, or `<none>`.
pub(super) fn labels(map: Option<&Value>) -> String {
    let pairs = map.and_then(Value::as_object).into_iter().flatten();
    joined(
        pairs
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect(),
    )
}

/// A label selector in the form of the query parameter, or `<none>`.
pub(super) fn selector(selector: Option<&Value>) -> String {
    let Some(selector) = selector else {
        return NONE.to_owned();
    };
    let mut parts = Vec::new();
    if count(selector, "/matchLabels") > 0 {
        parts.push(labels(selector.get("matchLabels")));
    }
    for expression in items(selector, "/matchExpressions") {
        let key = text(expression, "/key");
        let values: Vec<&str> = items(expression, "/values")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let values = values.join(",");
        parts.push(match text(expression, "/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    joined(parts)
}

/// The name of a class, which says whether an annotation makes it the default class.
pub(super) fn name_of_class(object: &Value, annotations: &[&str]) -> String {
    let name = text(object, "/metadata/name");
    match is_default_class(object, annotations) {
        true => format!("{name} (default)"),
        false => name.to_owned(),
    }
}

/// Whether one of these annotations makes a class the default class.
pub(super) fn is_default_class(object: &Value, annotations: &[&str]) -> bool {
    let set = object.pointer("/metadata/annotations");
    annotations.iter().any(|known| {
        set.and_then(|set| set.get(known))
            .is_some_and(|value| value == "true")
    })
}

/// Access modes in short.
pub(super) fn access_modes(object: &Value, pointer: &str) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let given = items(object, pointer);
    let set = SHORT
        .iter()
        .filter(|(mode, _)| given.iter().any(|given| given == mode));
    set.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

/// Names and images of the containers of a Pod template, each as one cell.
pub(super) fn containers(spec: Option<&Value>) -> [Value; 2] {
    let all = spec.map_or(&[][..], |spec| items(spec, "/containers"));
    ["/name", "/image"].map(|pointer| {
        let parts: Vec<&str> = all
            .iter()
            .map(|container| text(container, pointer))
            .collect();
        parts.join(",").into()
    })
}
