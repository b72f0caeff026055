use serde_json::{Map, Value, json};

use crate::go::types::{Field, Type, fields};

/// A value as a real server shows it in some errors: in the form of its internal type, whose fields have no JSON names
/// and are written even if they are not set.
pub(super) fn internal_form(definition: &str, value: &Value) -> Value {
    let Some(types) = fields(definition) else {
        return value.clone();
    };
    let shown = types.iter().map(|(name, field)| {
        let value = match value.get(&**name) {
            Some(value) => within(&field.kind, value),
            None => unset(field),
        };
        (capitalized(name), value)
    });
    Value::Object(shown.collect::<Map<_, _>>())
}

fn capitalized(name: &str) -> String {
    let mut name = name.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}

fn within(kind: &Type, value: &Value) -> Value {
    match (kind, value) {
        (Type::Struct(name), value) => internal_form(name, value),
        (Type::List(inner, _), Value::Array(items)) => {
            items.iter().map(|item| within(inner, item)).collect()
        }
        (Type::Map(inner, _), Value::Object(entries)) => {
            let entries = entries.iter();
            let shown = entries.map(|(key, value)| (key.clone(), within(inner, value)));
            Value::Object(shown.collect())
        }
        (_, value) => value.clone(),
    }
}

fn unset(field: &Field) -> Value {
    if field.pointer {
        return Value::Null;
    }
    match &field.kind {
        Type::Struct(name) => internal_form(name, &json!({})),
        Type::Basic(basic, _) => match &**basic {
            "string" => json!(""),
            "bool" => json!(false),
            _ => json!(0),
        },
        Type::Own(_) | Type::List(..) | Type::Map(..) | Type::Bytes => Value::Null,
    }
}
