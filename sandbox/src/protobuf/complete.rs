use serde_json::{Map, Value};

use super::decode::Malformed;
use super::table::{Kind, MessageId};

/// Completes a message whose bytes were read: gives the types with a form of their own that form, adds the fields that Go
/// writes although they are not set, and removes those that Go leaves out although they are.
///
/// It runs once over the whole object, and not for each part of a message: a message may come in many parts.
pub(super) fn complete(
    id: MessageId,
    object: &mut Map<String, Value>,
    levels: usize,
) -> Result<(), Malformed> {
    for field in &id.message().fields {
        if let (true, Kind::Message(inner)) = (field.inline, &field.kind) {
            complete(*inner, object, levels)?;
            continue;
        }
        let Some(value) = object.get_mut(&*field.name) else {
            if field.always {
                let mut value = Value::Null;
                if !field.pointer {
                    zero(&field.kind, &mut value, levels)?;
                }
                object.insert(field.name.to_string(), value);
            }
            continue;
        };
        finish(&field.kind, value, levels.saturating_sub(1))?;
        if !field.always && !field.pointer && is_zero(value) {
            object.remove(&*field.name);
        }
    }
    Ok(())
}

fn finish(kind: &Kind, value: &mut Value, levels: usize) -> Result<(), Malformed> {
    match (kind, value) {
        (Kind::List(inner), Value::Array(items)) => items
            .iter_mut()
            .try_for_each(|item| finish(inner, item, levels.saturating_sub(1))),
        (Kind::Map(inner), Value::Object(entries)) => entries
            .values_mut()
            .try_for_each(|value| finish(inner, value, levels.saturating_sub(1))),
        (Kind::Message(id), Value::Object(fields)) => complete(*id, fields, levels),
        (Kind::Own(form, id), value) => {
            let mut fields = match value.take() {
                Value::Object(fields) => fields,
                _ if form.is_replaced() => {
                    *value = form.zero();
                    return Ok(());
                }
                _ => Map::new(),
            };
            complete(*id, &mut fields, levels)?;
            *value = form.to_json(fields, levels)?;
            Ok(())
        }
        // An entry of a map without a value.
        (kind, value @ Value::Null) => zero(kind, value, levels),
        _ => Ok(()),
    }
}

/// The value of a field that is not set and not a pointer.
fn zero(kind: &Kind, value: &mut Value, levels: usize) -> Result<(), Malformed> {
    *value = match kind {
        Kind::String => "".into(),
        Kind::Bool => false.into(),
        Kind::Int32 | Kind::Int64 | Kind::Double => 0.into(),
        Kind::Bytes | Kind::List(_) | Kind::Map(_) => Value::Null,
        Kind::Message(id) => {
            let mut fields = Map::new();
            complete(*id, &mut fields, levels)?;
            fields.into()
        }
        Kind::Own(form, _) => form.zero(),
    };
    Ok(())
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
