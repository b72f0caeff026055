//! Managed fields in the form that the API server writes.

use serde_json::{Map, Value, json};

use super::Random;

/// Returns an entry of `metadata.managedFields`.
pub(super) fn entry(
    manager: &str,
    subresource: Option<&str>,
    fields: Value,
    random: &mut Random,
) -> Value {
    let mut entry = json!({
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "manager": manager,
        "operation": "Update",
        "time": random.time(),
    });
    if let Some(subresource) = subresource {
        entry["subresource"] = subresource.into();
    }
    entry
}

/// Returns the fields of `value`: `f:name` for those of an object, `k:{…}` for list elements that have a `key`.
pub(super) fn fields_of(value: &Value) -> Value {
    let Value::Object(object) = value else {
        return json!({});
    };
    let mut fields = Map::new();
    for (name, value) in object {
        fields.insert(format!("f:{name}"), owned(value));
    }
    Value::Object(fields)
}

fn owned(value: &Value) -> Value {
    match value {
        Value::Object(object) if !object.is_empty() => {
            let mut fields = fields_of(value);
            fields["."] = json!({});
            fields
        }
        Value::Array(items) => {
            let mut fields = Map::new();
            for item in items {
                for key in ["name", "type", "ip", "containerPort", "uid", "mountPath"] {
                    if let Some(part) = item.get(key) {
                        fields.insert(format!("k:{}", json!({ key: part })), owned(item));
                        break;
                    }
                }
            }
            Value::Object(fields)
        }
        _ => json!({}),
    }
}
