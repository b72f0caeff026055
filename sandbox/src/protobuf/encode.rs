use serde_json::{Map, Value};

use super::form::Fields;
use super::table::{Kind, MessageId};
use super::writer::Writer;
use crate::go::base64_bytes;

/// Where the values of the fields of a message are.
pub(super) enum Source<'a> {
    Object(&'a Map<String, Value>),
    /// Those of a type with a form of its own.
    Fields(Fields<'a>),
}

impl Source<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        let value = match self {
            Self::Object(fields) => fields.get(name),
            Self::Fields(fields) => {
                let found = fields.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| &**value)
            }
        };
        value.filter(|value| !value.is_null())
    }
}

/// Writes a message. A value of another type than that of its field counts as a zero value.
pub(super) fn encode_message(id: MessageId, source: &Source<'_>, writer: &mut Writer) {
    for field in id.message().fields.iter().rev() {
        if let (true, Kind::Message(inner)) = (field.inline, &field.kind) {
            writer.nested(field.number, |writer| {
                encode_message(*inner, source, writer)
            });
            continue;
        }
        match source.get(&field.name) {
            Some(value) => write(field.number, &field.kind, value, writer),
            None if field.pointer => {}
            None => write(field.number, &field.kind, &Value::Null, writer),
        }
    }
}

fn write(number: u32, kind: &Kind, value: &Value, writer: &mut Writer) {
    match kind {
        Kind::String => {
            writer.value(number, value.as_str().unwrap_or_default().as_bytes());
        }
        Kind::Bool => writer.number(number, value.as_bool().unwrap_or_default().into()),
        Kind::Int32 | Kind::Int64 => writer.number(number, value.as_i64().unwrap_or_default()),
        Kind::Double => writer.double(number, value.as_f64().unwrap_or_default()),
        Kind::Bytes => {
            if let Some(text) = value.as_str() {
                writer.value(number, &base64_bytes(text));
            }
        }
        Kind::List(inner) => {
            let items = value.as_array().into_iter().flatten().rev();
            items.for_each(|item| write(number, inner, item, writer));
        }
        Kind::Map(inner) => {
            let entries = value.as_object().into_iter().flatten();
            let mut entries: Vec<_> = entries.collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in entries.into_iter().rev() {
                writer.nested(number, |writer| {
                    write(2, inner, value, writer);
                    writer.value(1, key.as_bytes());
                });
            }
        }
        Kind::Message(id) => {
            let none = Map::new();
            let fields = Source::Object(value.as_object().unwrap_or(&none));
            writer.nested(number, |writer| encode_message(*id, &fields, writer));
        }
        Kind::Own(form, id) => writer.nested(number, |writer| {
            if let Some(fields) = form.to_fields(value) {
                encode_message(*id, &Source::Fields(fields), writer);
            }
        }),
    }
}
