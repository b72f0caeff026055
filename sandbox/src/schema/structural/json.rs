use serde_json::{Map, Value};

pub(super) fn is_true(map: &Map<String, Value>, name: &str) -> bool {
    map.get(name) == Some(&Value::Bool(true))
}

pub(super) fn text<'a>(map: &'a Map<String, Value>, name: &str) -> &'a str {
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn object<'a>(
    map: &'a Map<String, Value>,
    name: &str,
) -> Option<&'a Map<String, Value>> {
    map.get(name).and_then(Value::as_object)
}

pub(super) fn fields<'a>(
    map: &'a Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = (&'a String, &'a Map<String, Value>)> {
    let entries = object(map, name).into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name, value.as_object()?)))
}

pub(super) fn list<'a>(
    map: &'a Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = (usize, &'a Map<String, Value>)> {
    let items = map
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    items
        .enumerate()
        .filter_map(|(i, v)| Some((i, v.as_object()?)))
}
