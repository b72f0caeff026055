use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::complete::complete;
use super::form::number;
use super::reader::{BYTES, END_GROUP, FIXED64, Reader, Tag, VARINT};
use super::table::{Field, Kind, Message, MessageId};
use crate::{depth, stack};

/// Why bytes are not a message.
#[derive(Debug, PartialEq)]
pub(super) enum Malformed {
    UnexpectedEnd,
    Overflow,
    NegativeLength,
    EndOfGroup,
    WireType(u8),
    EndOfNoGroup {
        message: &'static str,
    },
    IllegalTag {
        message: &'static str,
        number: i32,
        raw: u64,
    },
    WrongWireType {
        field: &'static str,
        wire_type: u8,
    },
    /// A value that JSON cannot show, or that its type does not have.
    Value(Cow<'static, str>),
    /// There are more levels than allowed.
    TooDeep,
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedEnd => out.write_str("unexpected EOF"),
            Self::Overflow => out.write_str("proto: integer overflow"),
            Self::NegativeLength => {
                out.write_str("proto: negative length found during unmarshaling")
            }
            Self::EndOfGroup => out.write_str("proto: unexpected end of group"),
            Self::WireType(wire_type) => write!(out, "proto: illegal wireType {wire_type}"),
            Self::EndOfNoGroup { message } => {
                write!(out, "proto: {message}: wiretype end group for non-group")
            }
            Self::IllegalTag {
                message,
                number,
                raw,
            } => write!(
                out,
                "proto: {message}: illegal tag {number} (wire type {raw})"
            ),
            Self::WrongWireType { field, wire_type } => {
                write!(out, "proto: wrong wireType = {wire_type} for field {field}")
            }
            Self::Value(text) => out.write_str(text),
            Self::TooDeep => write!(out, "the object has more than {} levels", depth::LIMIT),
        }
    }
}

/// Decodes a message into the JSON that Go writes for it, and hands it to `then`.
///
/// # Errors
/// If the bytes are not such a message.
pub(super) fn decode_message<T>(
    id: MessageId,
    bytes: &[u8],
    then: impl Fn(Map<String, Value>) -> T,
) -> Result<T, Malformed> {
    let within = |levels| {
        let mut object = Map::new();
        message(id, bytes, &mut object, levels)?;
        complete(id, &mut object, levels)?;
        Ok(then(object))
    };
    match within(depth::USUAL) {
        // A deep value is also dropped on the large stack.
        Err(Malformed::TooDeep) => stack::large(|| within(depth::LIMIT)),
        decoded => decoded,
    }
}

/// Reads a message into `into`, which may contain the values of an earlier part of the same message.
fn message(
    id: MessageId,
    bytes: &[u8],
    into: &mut Map<String, Value>,
    levels: usize,
) -> Result<(), Malformed> {
    let levels = deeper(levels)?;
    let message = id.message();
    let mut reader = Reader::new(bytes);
    while !reader.is_at_end() {
        let start = reader.at;
        let tag = reader.tag()?;
        match known_field(message, tag)? {
            Some(field) => read(field, tag, &mut reader, into, levels)?,
            None => reader.skip(start, bytes.len())?,
        }
    }
    Ok(())
}

fn deeper(levels: usize) -> Result<usize, Malformed> {
    levels.checked_sub(1).ok_or(Malformed::TooDeep)
}

fn known_field(message: &'static Message, tag: Tag) -> Result<Option<&'static Field>, Malformed> {
    if tag.wire_type == END_GROUP {
        let message = message.go_name();
        return Err(Malformed::EndOfNoGroup { message });
    }
    match u32::try_from(tag.number) {
        Ok(number) if number > 0 => Ok(message.field(number)),
        _ => Err(Malformed::IllegalTag {
            message: message.go_name(),
            number: tag.number,
            raw: tag.raw,
        }),
    }
}

fn read(
    field: &'static Field,
    tag: Tag,
    reader: &mut Reader<'_>,
    into: &mut Map<String, Value>,
    levels: usize,
) -> Result<(), Malformed> {
    let expect = |kind: &Kind| match tag.wire_type == wire_type(kind) {
        true => Ok(()),
        false => Err(Malformed::WrongWireType {
            field: &field.go_name,
            wire_type: tag.wire_type,
        }),
    };
    match &field.kind {
        Kind::Message(id) if field.inline => {
            expect(&field.kind)?;
            // The fields are on the level of this message.
            message(*id, reader.value()?, into, levels + 1)
        }
        Kind::List(inner) => {
            let levels = deeper(levels)?;
            let is_packed = tag.wire_type == BYTES && wire_type(inner) == VARINT;
            if !is_packed {
                expect(inner)?;
            }
            let items = array(slot(into, &field.name));
            if !is_packed {
                let mut item = Value::Null;
                value(inner, reader, &mut item, levels)?;
                items.push(item);
                return Ok(());
            }
            let end = reader.end_of_value()?;
            while reader.at < end {
                let mut item = Value::Null;
                value(inner, reader, &mut item, levels)?;
                items.push(item);
            }
            Ok(())
        }
        Kind::Map(inner) => {
            expect(&field.kind)?;
            entry(
                inner,
                reader,
                object(slot(into, &field.name)),
                deeper(levels)?,
            )
        }
        kind => {
            expect(kind)?;
            value(kind, reader, slot(into, &field.name), levels)
        }
    }
}

fn wire_type(kind: &Kind) -> u8 {
    match kind {
        Kind::Bool | Kind::Int32 | Kind::Int64 => VARINT,
        Kind::Double => FIXED64,
        _ => BYTES,
    }
}

fn slot<'a>(into: &'a mut Map<String, Value>, name: &str) -> &'a mut Value {
    if !into.contains_key(name) {
        into.insert(name.to_owned(), Value::Null);
    }
    &mut into[name]
}

fn array(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(items) => items,
        _ => unreachable!("it is an array now"),
    }
}

fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("it is an object now"),
    }
}

/// Reads an entry of a map. Generated code does not check the wire types in it, and lets its last value end behind it.
fn entry(
    kind: &Kind,
    reader: &mut Reader<'_>,
    into: &mut Map<String, Value>,
    levels: usize,
) -> Result<(), Malformed> {
    let end = reader.end_of_value()?;
    let mut key = String::new();
    let mut found = match kind {
        Kind::Bytes => Value::from(""),
        _ => Value::Null,
    };
    while reader.at < end {
        let start = reader.at;
        match reader.tag()?.number {
            1 => key = String::from_utf8_lossy(reader.value()?).into_owned(),
            2 => {
                found = Value::Null;
                value(kind, reader, &mut found, levels)?;
            }
            _ => reader.skip(start, end)?,
        }
    }
    reader.at = end;
    into.insert(key, found);
    Ok(())
}

/// Reads one value. What a message does not contain stays as it is in `into`.
fn value(
    kind: &Kind,
    reader: &mut Reader<'_>,
    into: &mut Value,
    levels: usize,
) -> Result<(), Malformed> {
    *into = match kind {
        Kind::String => String::from_utf8_lossy(reader.value()?).into(),
        Kind::Bool => (reader.varint()? != 0).into(),
        // Generated code cuts the number off.
        Kind::Int32 => (reader.varint()? as i32).into(),
        Kind::Int64 => reader.varint()?.cast_signed().into(),
        Kind::Double => number(f64::from_bits(reader.fixed64()?))?,
        Kind::Bytes => STANDARD.encode(reader.value()?).into(),
        Kind::Message(id) => {
            return message(*id, reader.value()?, object(into), levels);
        }
        Kind::Own(form, id) => {
            let bytes = reader.value()?;
            if form.is_replaced() {
                *into = Value::Null;
                if bytes.is_empty() {
                    return Ok(());
                }
            }
            return message(*id, bytes, object(into), levels);
        }
        // There are no lists of lists and no maps of lists.
        Kind::List(_) | Kind::Map(_) => return Ok(()),
    };
    Ok(())
}
