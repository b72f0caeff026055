use serde_json::Value;

use super::{
    super::{Codec, Json},
    envelope::Envelope,
    error::ProtobufError::{self, Malformed},
    fields::Run,
    form::{self, Form, Time},
    table::{FieldId, Kind, table},
};

/// A value that is read next.
pub(super) enum Input<'de> {
    Null,
    /// A value, without its tag and its length. No bytes are Go's zero value.
    Value(Kind, &'de [u8]),
    /// The values of a field that has many.
    Run(Run<'de>),
    /// An object with its envelope.
    Object(Envelope<'de>),
    Time(Time),
    /// A part of JSON that a message holds as text.
    Tree(Value),
}

/// What the bytes of a part of a document are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// An object in its envelope.
    Document,
    /// An event of a watch, which has no envelope.
    Event,
    Null,
    /// A value, without its tag and its length.
    Value(Kind),
    /// All values of a field that has many, with their tags.
    Run(FieldId),
    /// JSON as text.
    Json,
}

impl<'de> Input<'de> {
    pub(super) fn of_shape(shape: Shape, bytes: &'de [u8]) -> Result<Self, ProtobufError> {
        match shape {
            // Without this error bytes that name no field of the kind would be an empty object, even no bytes at all.
            Shape::Document => match Envelope::read(bytes)? {
                Some(envelope) => Ok(Self::Object(envelope)),
                None => Err(Malformed("an object without an envelope")),
            },
            Shape::Event => Ok(Self::Value(Kind::Message(table().watch_event), bytes)),
            Shape::Null => Ok(Self::Null),
            Shape::Json => Self::of_raw(bytes),
            Shape::Value(kind) => Ok(Self::Value(kind, bytes)),
            Shape::Run(id) => Ok(Self::Run(Run::of(id, bytes)?)),
        }
    }

    /// JSON as text, or an object in its envelope.
    pub(super) fn of_raw(raw: &'de [u8]) -> Result<Self, ProtobufError> {
        if raw.is_empty() {
            return Ok(Self::Null);
        }
        if let Some(envelope) = Envelope::read(raw)? {
            return Ok(Self::Object(envelope));
        }
        match Json.read_owned(raw) {
            Ok(Value::Null) => Ok(Self::Null),
            Ok(tree) => Ok(Self::Tree(tree)),
            Err(_) => Err(Malformed("a text that is not JSON")),
        }
    }

    /// Whether JSON has `null` in the place of the value.
    pub(super) fn is_null(&self) -> Result<bool, ProtobufError> {
        match self {
            Self::Null | Self::Tree(Value::Null) => Ok(true),
            Self::Value(Kind::Own(form, message), bytes) => form.is_null(*message, bytes),
            _ => Ok(false),
        }
    }

    /// Puts the value in the form of JSON: what JSON has in the place of a message with a form of its own.
    pub(super) fn resolve(&mut self) -> Result<(), ProtobufError> {
        if let Self::Value(Kind::Own(form, message), bytes) = self {
            *self = form.input(*message, bytes)?;
        }
        Ok(())
    }

    /// The bytes of the value, so that it can be read later.
    pub(super) fn raw(self) -> Result<(Shape, &'de [u8]), ProtobufError> {
        Ok(match self {
            Self::Value(Kind::Own(Form::Json, message), bytes) => {
                let raw = form::raw(message, bytes)?;
                match Envelope::read(raw)? {
                    Some(_) => (Shape::Document, raw),
                    None => (Shape::Json, raw),
                }
            }
            Self::Null => (Shape::Null, b""),
            Self::Value(kind, bytes) => (Shape::Value(kind), bytes),
            Self::Run(run) => (Shape::Run(run.id()), run.bytes()),
            Self::Object(envelope) => (Shape::Document, envelope.whole),
            Self::Time(_) | Self::Tree(_) => return Err(Malformed("a text without bytes")),
        })
    }
}

/// A shape as a number. serde passes it from the reader to the part of a document.
impl Shape {
    pub(super) fn to_bits(self) -> u64 {
        let bits = |tag: u64, one: u16, two: u16| tag << 32 | u64::from(one) << 16 | u64::from(two);
        match self {
            Self::Document => bits(0, 0, 0),
            Self::Null => bits(1, 0, 0),
            Self::Json => bits(2, 0, 0),
            Self::Event => bits(12, 0, 0),
            Self::Run(id) => bits(3, id.message.0, id.index),
            Self::Value(kind) => match kind {
                Kind::String => bits(4, 0, 0),
                Kind::Bool => bits(5, 0, 0),
                Kind::Int32 => bits(6, 0, 0),
                Kind::Int64 => bits(7, 0, 0),
                Kind::Double => bits(8, 0, 0),
                Kind::Bytes => bits(9, 0, 0),
                Kind::Message(message) => bits(10, message.0, 0),
                Kind::Own(form, message) => bits(11, message.0, form as u16),
            },
        }
    }

    /// `None` if these are not the bits of a shape.
    pub(super) fn from_bits(bits: u64) -> Option<Self> {
        use super::table::MessageId;
        let message = MessageId((bits >> 16) as u16);
        let two = bits as u16;
        Some(match bits >> 32 {
            0 => Self::Document,
            1 => Self::Null,
            2 => Self::Json,
            3 => Self::Run(FieldId {
                message,
                index: two,
            }),
            4 => Self::Value(Kind::String),
            5 => Self::Value(Kind::Bool),
            6 => Self::Value(Kind::Int32),
            7 => Self::Value(Kind::Int64),
            8 => Self::Value(Kind::Double),
            9 => Self::Value(Kind::Bytes),
            10 => Self::Value(Kind::Message(message)),
            11 => Self::Value(Kind::Own(*Form::ALL.get(usize::from(two))?, message)),
            12 => Self::Event,
            _ => return None,
        })
    }
}
