//! Reads a JSON text with its index.
//!
//! The index makes reading fast: lists get their final capacity, strings are taken without a second scan, and values
//! that the type does not want are skipped at once. Rare or wrong values go to `serde_json`, so that both read the
//! same. Lists, maps and enums never do, so that a type is compiled for this reader alone.

use std::{borrow::Cow, convert::Infallible, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess,
        Unexpected, VariantAccess, Visitor,
        value::{BorrowedStrDeserializer, MapDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Error, Number, de::StrRead};

use super::{
    super::{error_path::ErrorPath, stack_bound::StackBound},
    json_index::{self, ESCAPED, Mark, is_number},
};
use crate::resource::{TOO_DEEP, TOO_DEEP_FOR_THE_STACK};

/// The name by which `serde_json` asks for the text of a value. It is no public interface: see the page of this module.
pub(in crate::client::codec) const RAW: &str = "$serde_json::private::RawValue";

/// The name by which [`JsonRaw`](super::JsonRaw) asks for a value and its place in the index.
pub(super) const PART: &str = "$pilothouse::json::Part";

type Inner<'de> = serde_json::Deserializer<StrRead<'de>>;

/// Reads one value after the other.
pub(super) struct Reader<'de, 'a> {
    text: &'de str,
    marks: &'a [Mark],
    next: usize,
    stack: StackBound,
    error_path: ErrorPath,
}

impl<'de, 'a> Reader<'de, 'a> {
    /// `marks` are the index of `text`, and the value with the mark `first` is read.
    pub(super) fn new(text: &'de str, marks: &'a [Mark], first: usize) -> Self {
        Self {
            text,
            marks,
            next: first,
            stack: StackBound::new(),
            error_path: ErrorPath::default(),
        }
    }

    /// The path to the error.
    pub(super) fn into_error_path(self) -> ErrorPath {
        self.error_path
    }

    /// Records that an error came from the key with that mark, or from its value.
    #[cold]
    fn note_key(&mut self, mark: usize) {
        let next = std::mem::replace(&mut self.next, mark);
        if let Ok(key) = self.text() {
            self.error_path.key(key.into_owned());
        }
        self.next = next;
    }

    /// The next value and its first byte.
    fn peek(&self) -> Result<(Mark, u8), Error> {
        let mark = self.marks.get(self.next).ok_or_else(confused)?;
        let byte = self.text.as_bytes().get(mark.at as usize);
        Ok((*mark, *byte.ok_or_else(confused)?))
    }

    fn slice(&self, start: u32, end: u32) -> Result<&'de str, Error> {
        let text = self.text.get(start as usize..end as usize);
        text.ok_or_else(confused)
    }

    fn extent(&self) -> Result<Mark, Error> {
        let mark = self.marks.get(self.next + 1);
        mark.copied().ok_or_else(confused)
    }

    /// Skips the next value and returns its text.
    fn raw(&mut self) -> Result<&'de str, Error> {
        let (mark, first) = self.peek()?;
        let (next, end) = match first {
            b'"' => (self.next + 1, (mark.end & !ESCAPED) + 1),
            b'{' | b'[' => (mark.end as usize, self.extent()?.end),
            _ => (self.next + 1, mark.end),
        };
        self.next = next;
        self.slice(mark.at, end)
    }

    /// The next value, which is a string, without its quotes if `is_fit` accepts the content. Otherwise the value is
    /// reported as a string in place of another type.
    fn unquoted(&mut self, is_fit: fn(&[u8]) -> bool) -> Result<&'de str, Error> {
        let quoted = self.raw()?;
        let text = quoted
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let fitting = text.filter(|text| is_fit(text.as_bytes()));
        Ok(fitting.unwrap_or(quoted))
    }

    /// Reads the next value with `serde_json`.
    fn rare<T>(
        &mut self,
        read: impl FnOnce(&mut Inner<'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        whole(self.raw()?, read)
    }

    /// The next value, which is a string.
    fn text(&mut self) -> Result<Cow<'de, str>, Error> {
        let (mark, _) = self.peek()?;
        if mark.end & ESCAPED != 0 {
            return self
                .rare(|inner| String::deserialize(inner))
                .map(Cow::Owned);
        }
        self.next += 1;
        self.slice(mark.at + 1, mark.end).map(Cow::Borrowed)
    }

    fn string<V: Visitor<'de>>(&mut self, _: Mark, visitor: V) -> Result<V::Value, Error> {
        match self.text()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn scalar<V: Visitor<'de>>(&mut self, mark: Mark, visitor: V) -> Result<V::Value, Error> {
        self.next += 1;
        match self.slice(mark.at, mark.end)? {
            "null" => visitor.visit_unit(),
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            text => match small(text) {
                Some(number) => visitor.visit_u64(number),
                None => whole(text, |inner| Number::deserialize(inner))?.deserialize_any(visitor),
            },
        }
    }

    /// The error for a next value of the wrong type.
    #[cold]
    fn unfit(&mut self, expected: &dyn Expected) -> Error {
        match self.rare(|inner| inner.deserialize_any(Unfit(expected))) {
            Ok(never) => match never {},
            Err(error) => error,
        }
    }

    /// The value of the key that was read last.
    fn value<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let key = self.next.wrapping_sub(1);
        let value = read(self);
        if value.is_err() {
            self.note_key(key);
        }
        value
    }

    fn list<V: Visitor<'de>>(&mut self, mark: Mark, visitor: V) -> Result<V::Value, Error> {
        self.within(mark, |elements| visitor.visit_seq(elements))
    }

    fn map<V: Visitor<'de>>(&mut self, mark: Mark, visitor: V) -> Result<V::Value, Error> {
        self.within(mark, |elements| visitor.visit_map(elements))
    }

    fn within<T>(
        &mut self,
        mark: Mark,
        visit: impl FnOnce(&mut Elements<'_, 'de, 'a>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let count = self.extent()?.at;
        if count == json_index::TOO_DEEP {
            return Err(too_deep(TOO_DEEP));
        }
        if self.stack.is_reached() {
            return Err(too_deep(TOO_DEEP_FOR_THE_STACK));
        }
        self.next += 2;
        let mut elements = Elements {
            count,
            left: count,
            reader: self,
        };
        let value = visit(&mut elements)?;
        if elements.left > 0 {
            return Err(Error::invalid_length(count as usize, &"fewer elements"));
        }
        self.next = mark.end as usize;
        Ok(value)
    }
}

/// The content of this list or map cannot be read.
#[cold]
fn too_deep(reason: &str) -> Error {
    Error::custom(reason)
}

/// The index does not belong to the text. This cannot happen.
#[cold]
fn confused() -> Error {
    Error::custom("the index does not fit the text")
}

/// A number of at most 18 digits, in the form of JSON.
fn small(text: &str) -> Option<u64> {
    let digits = text.as_bytes();
    let has_zeros = digits.len() > 1 && digits.starts_with(b"0");
    if has_zeros || !(1..=18).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + u64::from(digit))
    })
}

/// Reads all of `text` with `serde_json`.
fn whole<'de, T>(
    text: &'de str,
    read: impl FnOnce(&mut Inner<'de>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut inner = Inner::from_str(text);
    let value = read(&mut inner)?;
    // Only a wide integer takes less than the whole value: the digits before the point.
    let float = Unexpected::Other("floating point number");
    let rest = inner.end();
    rest.map_err(|_| Error::invalid_type(float, &"an integer"))?;
    Ok(value)
}

/// Matches no type. Reports what was found instead of what was expected.
struct Unfit<'a>(&'a dyn Expected);

impl Visitor<'_> for Unfit<'_> {
    type Value = Infallible;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a value of that kind begins. Any other value does not fit.
macro_rules! usual {
    ($($method:ident($($name:ident: $type:ty),*): $first:pat => $read:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Error> {
            match self.peek()? {
                (mark, $first) => self.$read(mark, visitor),
                _ => Err(self.unfit(&visitor)),
            }
        }
    )*};
}

/// Methods that go to `serde_json`.
macro_rules! rare {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.rare(|inner| inner.$method(visitor))
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de, '_> {
    type Error = Error;

    usual! {
        deserialize_map(): b'{' => map;
        // A list of the fields in their order is not accepted, because no API writes structs in this form.
        deserialize_struct(_name: &'static str, _fields: &'static [&'static str]): b'{' => map;
        deserialize_seq(): b'[' => list;
        deserialize_tuple(_len: usize): b'[' => list;
        deserialize_tuple_struct(_name: &'static str, _len: usize): b'[' => list;
        deserialize_str(): b'"' => string;
        deserialize_string(): b'"' => string;
        deserialize_identifier(): b'"' => string;
        deserialize_char(): b'"' => string;
        deserialize_unit(): b'n' => scalar;
        deserialize_unit_struct(_name: &'static str): b'n' => scalar;
        deserialize_bool(): b't' | b'f' => scalar;
        deserialize_i8(): b'-' | b'0'..=b'9' => scalar;
        deserialize_i16(): b'-' | b'0'..=b'9' => scalar;
        deserialize_i32(): b'-' | b'0'..=b'9' => scalar;
        deserialize_i64(): b'-' | b'0'..=b'9' => scalar;
        deserialize_u8(): b'-' | b'0'..=b'9' => scalar;
        deserialize_u16(): b'-' | b'0'..=b'9' => scalar;
        deserialize_u32(): b'-' | b'0'..=b'9' => scalar;
        deserialize_u64(): b'-' | b'0'..=b'9' => scalar;
        deserialize_f64(): b'-' | b'0'..=b'9' => scalar;
    }

    rare! {
        deserialize_i128 deserialize_u128 deserialize_f32 deserialize_bytes deserialize_byte_buf
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek()? {
            (mark, b'"') => self.string(mark, visitor),
            (mark, b'{') => self.map(mark, visitor),
            (mark, b'[') => self.list(mark, visitor),
            (mark, _) => self.scalar(mark, visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek()? {
            (_, b'n') => {
                self.next += 1;
                visitor.visit_none()
            }
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match name {
            RAW => {
                let [key, text] = [RAW, self.raw()?].map(BorrowedStrDeserializer::<Error>::new);
                visitor.visit_map(MapDeserializer::new([(key, text)].into_iter()))
            }
            PART => {
                let first = self.next;
                let text = self.raw()?;
                visitor.visit_seq(Part {
                    first: Some(first),
                    text,
                })
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.peek()? {
            (_, b'"') => visitor.visit_enum(self.text()?.into_deserializer()),
            (mark, b'{') => self.within(mark, |entries| match entries.take() {
                true => visitor.visit_enum(Variant(&mut *entries.reader)),
                false => Err(Error::invalid_length(0, &A_VARIANT)),
            }),
            _ => Err(self.unfit(&A_VARIANT)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.next = match self.peek()? {
            (mark, b'{' | b'[') => mark.end as usize,
            _ => self.next + 1,
        };
        visitor.visit_unit()
    }
}

const A_VARIANT: &str = "a string or a map of one entry";

/// A value: the number of its first mark, and its text.
struct Part<'de> {
    first: Option<usize>,
    text: &'de str,
}

impl<'de> SeqAccess<'de> for Part<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        match self.first.take() {
            Some(first) => seed.deserialize(first.into_deserializer()),
            None => seed.deserialize(BorrowedStrDeserializer::new(self.text)),
        }
        .map(Some)
    }
}

/// The rest of a list or of a map.
struct Elements<'r, 'de, 'a> {
    count: u32,
    left: u32,
    reader: &'r mut Reader<'de, 'a>,
}

impl Elements<'_, '_, '_> {
    fn take(&mut self) -> bool {
        let taken = self.left.checked_sub(1);
        self.left = taken.unwrap_or_default();
        taken.is_some()
    }
}

impl<'de> SeqAccess<'de> for &mut Elements<'_, 'de, '_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        if !self.take() {
            return Ok(None);
        }
        let element = seed.deserialize(&mut *self.reader);
        if element.is_err() {
            self.reader
                .error_path
                .index((self.count - self.left - 1) as usize);
        }
        element.map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left as usize)
    }
}

impl<'de> MapAccess<'de> for &mut Elements<'_, 'de, '_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        if !self.take() {
            return Ok(None);
        }
        let mark = self.reader.next;
        let key = seed.deserialize(Key(&mut *self.reader));
        if key.is_err() {
            self.reader.note_key(mark);
        }
        key.map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        self.reader.value(|reader| seed.deserialize(reader))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left as usize)
    }
}

/// The only entry of a map: a variant of an enum and its content.
struct Variant<'r, 'de, 'a>(&'r mut Reader<'de, 'a>);

impl<'de> EnumAccess<'de> for Variant<'_, 'de, '_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        Ok((seed.deserialize(Key(&mut *self.0))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de, '_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.0.value(|reader| <()>::deserialize(reader))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        self.0.value(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.0.value(|reader| reader.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0
            .value(|reader| reader.deserialize_struct("", fields, visitor))
    }
}

/// A key, which is a string whatever type is read from it.
struct Key<'r, 'de, 'a>(&'r mut Reader<'de, 'a>);

/// A key of another type, written in quotes.
macro_rules! quoted {
    ($is_fit:expr => $($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let text = self.0.unquoted($is_fit)?;
            whole(text, |inner| inner.$method(visitor))
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'_, 'de, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match name {
            RAW => self.0.deserialize_newtype_struct(name, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_bytes(visitor)
    }

    quoted! {
        |text| matches!(text, b"true" | b"false") => deserialize_bool
    }

    quoted! {
        is_number =>
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
