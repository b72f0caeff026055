use std::borrow::Cow;

use base64::Engine;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
        value::{BorrowedBytesDeserializer, MapAccessDeserializer, MapDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Map, Value};

use super::{
    super::{error_path::ErrorPath, key_reader::KeyReader, stack_bound::StackBound},
    error::ProtobufError::{self, Malformed},
    fields::{Fields, Run},
    input::{Input, Shape},
    table::Kind,
    wire,
};
use crate::{
    client::codec::json,
    resource::{DEEPEST, TOO_DEEP, TOO_DEEP_FOR_THE_STACK},
};

/// The name by which a type asks for the bytes of a part of a document.
pub(super) const RAW: &str = "$pilothouse::protobuf::Raw";

/// Decodes protobuf into any type that reads JSON.
///
/// This is the only `Deserializer` and there is one `MapAccess`, whatever the values are, so that a type is compiled for it once.
pub(super) struct Reader<'de> {
    input: Input<'de>,
    /// How many lists and maps may still begin within the present one.
    levels: usize,
    stack: StackBound,
    error_path: ErrorPath,
}

impl<'de> Reader<'de> {
    pub(super) fn new(shape: Shape, bytes: &'de [u8]) -> Result<Self, ProtobufError> {
        Ok(Self {
            input: Input::of_shape(shape, bytes)?,
            levels: DEEPEST,
            stack: StackBound::new(),
            error_path: ErrorPath::default(),
        })
    }

    /// The path to the error.
    pub(super) fn into_error_path(self) -> ErrorPath {
        self.error_path
    }

    fn take(&mut self) -> Input<'de> {
        std::mem::replace(&mut self.input, Input::Null)
    }

    /// Decodes the content of a list or a map, one level down.
    fn within<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ProtobufError>,
    ) -> Result<T, ProtobufError> {
        self.levels = self
            .levels
            .checked_sub(1)
            .ok_or_else(|| ProtobufError::custom(TOO_DEEP))?;
        if self.stack.is_reached() {
            return Err(ProtobufError::custom(TOO_DEEP_FOR_THE_STACK));
        }
        let value = read(self)?;
        self.levels += 1;
        Ok(value)
    }

    fn map<V: Visitor<'de>>(
        &mut self,
        pairs: Pairs<'de>,
        visitor: V,
    ) -> Result<V::Value, ProtobufError> {
        self.within(|reader| visitor.visit_map(Entries::new(reader, pairs)))
    }

    fn list<V: Visitor<'de>>(
        &mut self,
        items: List<'de>,
        visitor: V,
    ) -> Result<V::Value, ProtobufError> {
        self.within(|reader| {
            let mut items = Items {
                reader,
                items,
                index: 0,
            };
            let value = visitor.visit_seq(&mut items)?;
            match items.items.next()? {
                None => Ok(value),
                Some(_) => Err(ProtobufError::custom(
                    "invalid length of a list, expected fewer elements",
                )),
            }
        })
    }

    fn any<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ProtobufError> {
        match self.take().resolved()? {
            Input::Null => visitor.visit_unit(),
            Input::Value(kind, bytes) => match kind {
                Kind::String => match text(bytes) {
                    Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                    Cow::Owned(text) => visitor.visit_string(text),
                },
                Kind::Bool => visitor.visit_bool(wire::number(bytes) != 0),
                // Go's generated code cuts the number off.
                Kind::Int32 => integer((wire::number(bytes) as i32).into(), visitor),
                Kind::Int64 => integer(wire::number(bytes).cast_signed(), visitor),
                Kind::Double => float(wire::double(bytes), visitor),
                Kind::Bytes => {
                    let engine = base64::engine::general_purpose::STANDARD;
                    visitor.visit_string(engine.encode(bytes))
                }
                Kind::Message(message) => {
                    self.map(Pairs::Fields(Fields::of_message(message, bytes)), visitor)
                }
                Kind::Own(..) => Err(Malformed("a form within a form")),
            },
            Input::Run(run) if run.is_map() => self.map(Pairs::Entries(run), visitor),
            Input::Run(run) => self.list(List::Run(run), visitor),
            Input::Object(envelope) => {
                self.map(Pairs::Fields(Fields::of_object(envelope)?), visitor)
            }
            Input::Time(time) => visitor.visit_str(time.text()),
            Input::Tree(tree) => match tree {
                Value::Null => visitor.visit_unit(),
                Value::Bool(value) => visitor.visit_bool(value),
                Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                    (Some(number), _) => visitor.visit_u64(number),
                    (None, Some(number)) => visitor.visit_i64(number),
                    _ => visitor.visit_f64(number.as_f64().unwrap_or_default()),
                },
                Value::String(text) => visitor.visit_string(text),
                Value::Array(items) => self.list(List::Tree(items.into_iter()), visitor),
                Value::Object(entries) => self.map(Pairs::Tree(entries.into_iter()), visitor),
            },
        }
    }

    /// Whether a string is next, or `null`, so that no list and no map begins.
    fn is_map(&self) -> bool {
        match &self.input {
            Input::Value(kind, _) => matches!(kind, Kind::Message(_)),
            Input::Run(run) => run.is_map(),
            Input::Object(_) | Input::Tree(Value::Object(_)) => true,
            _ => false,
        }
    }
}

/// Go's JSON has a replacement character for what is not UTF-8.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn integer<'de, V: Visitor<'de>>(number: i64, visitor: V) -> Result<V::Value, ProtobufError> {
    match u64::try_from(number) {
        Ok(number) => visitor.visit_u64(number),
        Err(_) => visitor.visit_i64(number),
    }
}

/// Go writes a whole number without a fraction, so JSON has an integer there, as long as 64 bits hold it. Go writes the shortest digits that
/// name the number, and zeros after them, as Rust does.
fn float<'de, V: Visitor<'de>>(number: f64, visitor: V) -> Result<V::Value, ProtobufError> {
    if !number.is_finite() {
        return Err(Malformed("a number that is not finite"));
    }
    if number.fract() != 0.0 || (number == 0.0 && number.is_sign_negative()) {
        return visitor.visit_f64(number);
    }
    let digits = number.to_string();
    match (digits.parse(), digits.parse()) {
        (Ok(number), _) => visitor.visit_u64(number),
        (_, Ok(number)) => visitor.visit_i64(number),
        _ => visitor.visit_f64(number),
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = ProtobufError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtobufError> {
        self.any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtobufError> {
        match self.input.is_null()? {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ProtobufError> {
        match name {
            RAW => {
                let (shape, bytes) = self.take().raw()?;
                visitor.visit_seq(Raw {
                    shape: Some(shape),
                    bytes,
                })
            }
            json::RAW => {
                let text = Value::deserialize(self)?.to_string();
                visitor.visit_map(MapDeserializer::new([(name, text)].into_iter()))
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProtobufError> {
        self.input = self.take().resolved()?;
        if !self.is_map() {
            return visitor.visit_enum(String::deserialize(self)?.into_deserializer());
        }
        let pairs = match self.take() {
            Input::Value(Kind::Message(message), bytes) => {
                Pairs::Fields(Fields::of_message(message, bytes))
            }
            Input::Object(envelope) => Pairs::Fields(Fields::of_object(envelope)?),
            Input::Run(run) => Pairs::Entries(run),
            Input::Tree(Value::Object(entries)) => Pairs::Tree(entries.into_iter()),
            _ => Pairs::Tree(Map::new().into_iter()),
        };
        self.within(|reader| {
            let mut entries = Entries::new(reader, pairs);
            let value = visitor.visit_enum(MapAccessDeserializer::new(&mut entries))?;
            match entries.pairs.next()? {
                None => Ok(value),
                Some(_) => Err(ProtobufError::custom(NOT_A_VARIANT)),
            }
        })
    }

    /// A list of the fields in their order is not accepted, as in JSON.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ProtobufError> {
        self.input = self.take().resolved()?;
        let is_list = match &self.input {
            Input::Run(run) => !run.is_map(),
            Input::Tree(tree) => tree.is_array(),
            _ => false,
        };
        match is_list {
            true => Err(ProtobufError::invalid_type(Unexpected::Seq, &visitor)),
            false => self.any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, ProtobufError> {
        self.input = Input::Null;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

const NOT_A_VARIANT: &str = "invalid type: something else, expected a string or a map of one entry";

/// Where the entries of a map come from.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would cost an allocation for each message"
)]
enum Pairs<'de> {
    Fields(Fields<'de>),
    Entries(Run<'de>),
    Tree(serde_json::map::IntoIter),
}

impl<'de> Pairs<'de> {
    fn next(&mut self) -> Result<Option<(Cow<'de, str>, Input<'de>)>, ProtobufError> {
        Ok(match self {
            Self::Fields(fields) => {
                let field = fields.next()?;
                field.map(|(name, value)| (Cow::Borrowed(name), value))
            }
            Self::Entries(run) => run.next_entry()?.map(|(key, value)| (text(key), value)),
            Self::Tree(entries) => {
                let entry = entries.next();
                entry.map(|(key, value)| (Cow::Owned(key), Input::Tree(value)))
            }
        })
    }
}

struct Entries<'a, 'de> {
    reader: &'a mut Reader<'de>,
    pairs: Pairs<'de>,
    /// The last key.
    key: Cow<'de, str>,
}

impl<'a, 'de> Entries<'a, 'de> {
    fn new(reader: &'a mut Reader<'de>, pairs: Pairs<'de>) -> Self {
        Self {
            reader,
            pairs,
            key: Cow::Borrowed(""),
        }
    }

    /// Returns the result. An error is at the last key.
    fn noted<T>(&mut self, result: Result<T, ProtobufError>) -> Result<T, ProtobufError> {
        if result.is_err() {
            self.reader.error_path.key(self.key.to_string());
        }
        result
    }
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = ProtobufError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ProtobufError> {
        let Some((key, value)) = self.pairs.next()? else {
            return Ok(None);
        };
        self.key = key.clone();
        self.reader.input = value;
        let key = seed.deserialize(KeyReader::<ProtobufError>::new(key));
        self.noted(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, ProtobufError> {
        let value = seed.deserialize(&mut *self.reader);
        self.noted(value)
    }

    fn size_hint(&self) -> Option<usize> {
        match &self.pairs {
            Pairs::Fields(_) => None,
            Pairs::Entries(run) => Some(run.left()),
            Pairs::Tree(entries) => Some(entries.len()),
        }
    }
}

/// Where the items of a list come from.
enum List<'de> {
    Run(Run<'de>),
    Tree(std::vec::IntoIter<Value>),
}

impl<'de> List<'de> {
    fn next(&mut self) -> Result<Option<Input<'de>>, ProtobufError> {
        match self {
            Self::Run(run) => run.next_item(),
            Self::Tree(items) => Ok(items.next().map(Input::Tree)),
        }
    }
}

struct Items<'a, 'de> {
    reader: &'a mut Reader<'de>,
    items: List<'de>,
    /// The index of the next item.
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = ProtobufError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ProtobufError> {
        let Some(item) = self.items.next()? else {
            return Ok(None);
        };
        self.reader.input = item;
        let item = seed.deserialize(&mut *self.reader);
        if item.is_err() {
            self.reader.error_path.index(self.index);
        }
        self.index += 1;
        item.map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(match &self.items {
            List::Run(run) => run.left(),
            List::Tree(items) => items.len(),
        })
    }
}

/// The bytes of a part of a document, after their shape.
struct Raw<'de> {
    shape: Option<Shape>,
    bytes: &'de [u8],
}

impl<'de> SeqAccess<'de> for Raw<'de> {
    type Error = ProtobufError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ProtobufError> {
        match self.shape.take() {
            Some(shape) => seed.deserialize(shape.to_bits().into_deserializer()),
            None => seed.deserialize(BorrowedBytesDeserializer::new(self.bytes)),
        }
        .map(Some)
    }
}
