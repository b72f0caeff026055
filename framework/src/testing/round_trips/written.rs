use serde_json::Value;

/// Gives the object the form in which the type wrote `typed`: a duration `60s` becomes `1m0s`. Removes what the type does not write. That is
/// no loss of a conversion: an optional field of another variant of an enum, because the schema has the fields of all variants in one object; an
/// empty list that serde skips; or a null that reads as a field that is not there.
pub(super) fn leave_what_is_written(object: &mut Value, typed: &Value) {
    match (object, typed) {
        (Value::Object(fields), Value::Object(typed)) => {
            fields.retain(|name, _| typed.contains_key(name));
            for (name, value) in fields {
                if let Some(typed) = typed.get(name) {
                    leave_what_is_written(value, typed);
                }
            }
        }
        (Value::Array(items), Value::Array(typed)) if items.len() == typed.len() => {
            for (item, typed) in items.iter_mut().zip(typed) {
                leave_what_is_written(item, typed);
            }
        }
        (Value::Object(_) | Value::Array(_), _) => {}
        (object, typed) => object.clone_from(typed),
    }
}
