use serde_json::Value;

/// Cuts every description to `max` characters; 0 removes all descriptions.
pub(in crate::crd) fn limit_descriptions(schema: &mut Value, max: usize) {
    let Value::Object(map) = schema else { return };
    match map.get_mut("description") {
        Some(Value::String(_)) if max == 0 => {
            map.remove("description");
        }
        Some(Value::String(text)) => {
            if let Some((at, _)) = text.char_indices().nth(max) {
                text.truncate(at);
            }
        }
        _ => {}
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for property in properties.values_mut() {
            limit_descriptions(property, max);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(key) {
            limit_descriptions(inner, max);
        }
    }
}
