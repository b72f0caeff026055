use std::borrow::Cow;

use base64::Engine;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
        Visitor,
        value::{BorrowedBytesDeserializer, MapAccessDeserializer, MapDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::Value;

use super::{
    super::{error_path::ErrorPath, key_reader::KeyReader, stack_bound::StackBound},
    error::ProtobufError::{self, Malformed},
    fields::{Fields, Run},
    form::Time,
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
        self.enter()?;
        let value = read(self)?;
        self.levels += 1;
        Ok(value)
    }

    fn enter(&mut self) -> Result<(), ProtobufError> {
        let levels = self.levels.checked_sub(1);
        self.levels = levels.ok_or_else(|| ProtobufError::custom(TOO_DEEP))?;
        match self.stack.is_reached() {
            true => Err(ProtobufError::custom(TOO_DEEP_FOR_THE_STACK)),
            false => Ok(()),
        }
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
            items.items.end()?;
            Ok(value)
        })
    }

    /// The next value in the form of JSON. Each method of the `Deserializer` goes on from here to the visits that its values
    /// need, so that a type is compiled for no others.
    fn next(&mut self) -> Result<Next<'de>, ProtobufError> {
        self.input.resolve()?;
        Ok(match self.input {
            Input::Null => Next::Null,
            Input::Value(kind, bytes) => match kind {
                Kind::String => Next::Text(text(bytes)),
                Kind::Bool => Next::Bool(wire::number(bytes) != 0),
                // Go's generated code cuts the number off.
                Kind::Int32 => Next::Number(Number::of((wire::number(bytes) as i32).into())),
                Kind::Int64 => Next::Number(Number::of(wire::number(bytes).cast_signed())),
                Kind::Double => Next::Number(float(wire::double(bytes))?),
                Kind::Bytes => {
                    let engine = base64::engine::general_purpose::STANDARD;
                    Next::Text(engine.encode(bytes).into())
                }
                Kind::Message(message) => {
                    Next::Map(Pairs::Fields(Fields::of_message(message, bytes)))
                }
                Kind::Own(..) => return Err(Malformed("a form within a form")),
            },
            Input::Run(run) if run.is_map() => Next::Map(Pairs::Entries(run)),
            Input::Run(run) => Next::List(List::Run(run)),
            Input::Object(envelope) => Next::Map(Pairs::Fields(Fields::of_object(envelope)?)),
            Input::Time(time) => Next::Time(time),
            Input::Tree(ref mut tree) => Next::of_tree(tree.take()),
        })
    }
}

/// Go's JSON has a replacement character for what is not UTF-8.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// A value in the form of JSON.
enum Next<'de> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'de, str>),
    Time(Time),
    List(List<'de>),
    Map(Pairs<'de>),
}

impl Next<'_> {
    fn of_tree(tree: Value) -> Self {
        match tree {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => Self::Number(match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => Number::Unsigned(number),
                (None, Some(number)) => Number::Signed(number),
                _ => Number::Float(number.as_f64().unwrap_or_default()),
            }),
            Value::String(text) => Self::Text(text.into()),
            Value::Array(items) => Self::List(List::Tree(items.into_iter())),
            Value::Object(entries) => Self::Map(Pairs::Tree(entries.into_iter())),
        }
    }

    /// The error for a value of the wrong type. It names no value.
    #[cold]
    fn unfit(&self, expected: &dyn Expected) -> ProtobufError {
        let found = match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Number(Number::Unsigned(_) | Number::Signed(_)) => Unexpected::Unsigned(0),
            Self::Number(Number::Float(_)) => Unexpected::Float(0.0),
            Self::Text(_) | Self::Time(_) => Unexpected::Str(""),
            Self::List(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
        };
        ProtobufError::invalid_type(found, expected)
    }
}

enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl Number {
    fn of(number: i64) -> Self {
        match u64::try_from(number) {
            Ok(number) => Self::Unsigned(number),
            Err(_) => Self::Signed(number),
        }
    }

    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtobufError> {
        match self {
            Self::Unsigned(number) => visitor.visit_u64(number),
            Self::Signed(number) => visitor.visit_i64(number),
            Self::Float(number) => visitor.visit_f64(number),
        }
    }
}

/// Go writes a whole number without a fraction, so JSON has an integer there, as long as 64 bits hold it. Go writes the shortest digits that
/// name the number, and zeros after them, as Rust does.
fn float(number: f64) -> Result<Number, ProtobufError> {
    if !number.is_finite() {
        return Err(Malformed("a number that is not finite"));
    }
    if number.fract() != 0.0 || (number == 0.0 && number.is_sign_negative()) {
        return Ok(Number::Float(number));
    }
    let digits = number.to_string();
    Ok(match (digits.parse(), digits.parse()) {
        (Ok(number), _) => Number::Unsigned(number),
        (_, Ok(number)) => Number::Signed(number),
        _ => Number::Float(number),
    })
}

fn visit_text<'de, V: Visitor<'de>>(
    text: Cow<'de, str>,
    visitor: V,
) -> Result<V::Value, ProtobufError> {
    match text {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

/// How values of these types are visited. Any other value does not fit.
macro_rules! usual {
    ($($method:ident($($name:ident: $type:ty),*): $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(
            self,
            $($name: $type,)*
            visitor: V,
        ) -> Result<V::Value, ProtobufError> {
            self.$visit(visitor)
        }
    )*};
}

impl<'de> Reader<'de> {
    fn bool<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ProtobufError> {
        match self.next()? {
            Next::Bool(value) => visitor.visit_bool(value),
            other => Err(other.unfit(&visitor)),
        }
    }

    fn number<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ProtobufError> {
        match self.next()? {
            Next::Number(number) => number.visit(visitor),
            other => Err(other.unfit(&visitor)),
        }
    }

    fn text<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ProtobufError> {
        match self.next()? {
            Next::Text(text) => visit_text(text, visitor),
            Next::Time(time) => visitor.visit_str(time.text()),
            other => Err(other.unfit(&visitor)),
        }
    }

    fn seq<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ProtobufError> {
        match self.next()? {
            Next::List(items) => self.list(items, visitor),
            other => Err(other.unfit(&visitor)),
        }
    }

    fn entries<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ProtobufError> {
        match self.next()? {
            Next::Map(pairs) => self.map(pairs, visitor),
            other => Err(other.unfit(&visitor)),
        }
    }

    fn unit<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, ProtobufError> {
        match self.next()? {
            Next::Null => visitor.visit_unit(),
            other => Err(other.unfit(&visitor)),
        }
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = ProtobufError;

    usual! {
        deserialize_bool(): bool;
        deserialize_i8(): number;
        deserialize_i16(): number;
        deserialize_i32(): number;
        deserialize_i64(): number;
        deserialize_i128(): number;
        deserialize_u8(): number;
        deserialize_u16(): number;
        deserialize_u32(): number;
        deserialize_u64(): number;
        deserialize_u128(): number;
        deserialize_f32(): number;
        deserialize_f64(): number;
        deserialize_char(): text;
        deserialize_str(): text;
        deserialize_string(): text;
        deserialize_identifier(): text;
        deserialize_unit(): unit;
        deserialize_unit_struct(_name: &'static str): unit;
        deserialize_seq(): seq;
        deserialize_tuple(_len: usize): seq;
        deserialize_tuple_struct(_name: &'static str, _len: usize): seq;
        deserialize_map(): entries;
        // A list of the fields in their order is not accepted, as in JSON.
        deserialize_struct(_name: &'static str, _fields: &'static [&'static str]): entries;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ProtobufError> {
        match self.next()? {
            Next::Null => visitor.visit_unit(),
            Next::Bool(value) => visitor.visit_bool(value),
            Next::Number(number) => number.visit(visitor),
            Next::Text(text) => visit_text(text, visitor),
            Next::Time(time) => visitor.visit_str(time.text()),
            Next::List(items) => self.list(items, visitor),
            Next::Map(pairs) => self.map(pairs, visitor),
        }
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
        let pairs = match self.next()? {
            Next::Text(text) => return visitor.visit_enum(text.into_deserializer()),
            Next::Map(pairs) => pairs,
            other => return Err(other.unfit(&A_VARIANT)),
        };
        self.within(|reader| {
            let mut entries = Entries::new(reader, pairs);
            let value = visitor.visit_enum(MapAccessDeserializer::new(&mut entries))?;
            match entries.pairs.next(&mut Input::Null)? {
                None => Ok(value),
                Some(_) => Err(ProtobufError::invalid_type(Unexpected::Map, &A_VARIANT)),
            }
        })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, ProtobufError> {
        self.input = Input::Null;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bytes byte_buf
    }
}

const A_VARIANT: &str = "a string or a map of one entry";

/// Where the entries of a map come from.
enum Pairs<'de> {
    Fields(Fields<'de>),
    Entries(Run<'de>),
    Tree(serde_json::map::IntoIter),
}

impl<'de> Pairs<'de> {
    /// The key of the next entry. Its value goes to `value`.
    fn next(&mut self, value: &mut Input<'de>) -> Result<Option<Cow<'de, str>>, ProtobufError> {
        Ok(match self {
            Self::Fields(fields) => fields.next(value)?.map(Cow::Borrowed),
            Self::Entries(run) => run.next_entry(value)?.map(text),
            Self::Tree(entries) => entries.next().map(|(key, tree)| {
                *value = Input::Tree(tree);
                Cow::Owned(key)
            }),
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
        let Some(key) = self.pairs.next(&mut self.reader.input)? else {
            return Ok(None);
        };
        self.key = key.clone();
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
    /// Whether the list goes on. Its next item goes to `value`.
    fn next(&mut self, value: &mut Input<'de>) -> Result<bool, ProtobufError> {
        match self {
            Self::Run(run) => run.next_item(value),
            Self::Tree(items) => {
                let item = items.next().map(|tree| *value = Input::Tree(tree));
                Ok(item.is_some())
            }
        }
    }

    /// Fails if an item is left.
    fn end(&mut self) -> Result<(), ProtobufError> {
        match self.next(&mut Input::Null)? {
            false => Ok(()),
            true => Err(ProtobufError::custom(
                "invalid length of a list, expected fewer elements",
            )),
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
        if !self.items.next(&mut self.reader.input)? {
            return Ok(None);
        }
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
