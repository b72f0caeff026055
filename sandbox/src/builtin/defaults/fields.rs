use serde_json::{Map, Value, json};

/// Sets a field if it is absent.
pub(super) fn fill(fields: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    if !fields.contains_key(key) {
        fields.insert(key.to_owned(), value.into());
    }
}

/// A field that is an object.
pub(super) fn object<'a>(
    fields: &'a mut Map<String, Value>,
    key: &str,
) -> Option<&'a mut Map<String, Value>> {
    fields.get_mut(key)?.as_object_mut()
}

/// Calls `change` with every object in the list `key`.
pub(super) fn each(
    fields: &mut Map<String, Value>,
    key: &str,
    mut change: impl FnMut(&mut Map<String, Value>),
) {
    let items = fields.get_mut(key).and_then(Value::as_array_mut);
    for item in items.into_iter().flatten() {
        if let Value::Object(item) = item {
            change(item);
        }
    }
}

/// The object in `key`. Creates it if it is absent.
pub(super) fn ensure<'a>(
    fields: &'a mut Map<String, Value>,
    key: &str,
) -> Option<&'a mut Map<String, Value>> {
    fill(fields, key, json!({}));
    object(fields, key)
}
