use serde_json::{Map, Value};

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// The values of `old` that are not in `new`.
pub(super) fn lost<'a>(old: &'a Value, new: &'a Value) -> impl Iterator<Item = &'a Value> {
    let new = list(new);
    list(old).iter().filter(move |value| !new.contains(value))
}
