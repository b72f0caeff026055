//! Reads a JSON text along its outline.
//!
//! What is known beforehand is used: lists are made as large as they will be, strings are taken without looking at their
//! bytes again, and what nobody wants is stepped over at once. Whatever is rare or wrong goes to `serde_json`, so that
//! both read the same.

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Unexpected, Visitor},
    forward_to_deserialize_any,
};
use serde_json::{Error, de::StrRead};

use super::outline::{ESCAPED, Mark, is_number};

/// By this name `serde_json` asks for the text of a value.
const RAW: &str = "$serde_json::private::RawValue";

type Inner<'de> = serde_json::Deserializer<StrRead<'de>>;

/// Reads one value after the other.
pub(super) struct Reader<'de, 'a> {
    text: &'de str,
    marks: &'a [Mark],
    next: usize,
}

impl<'de, 'a> Reader<'de, 'a> {
    /// `marks` are the outline of `text`.
    pub(super) fn new(text: &'de str, marks: &'a [Mark]) -> Self {
        Self {
            text,
            marks,
            next: 0,
        }
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

    /// The text of the next value, which is stepped over.
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

    /// The next value, which is a string, without its quotes if what is in them fits. With them it is told of as a string
    /// in the place of something else.
    fn unquoted(&mut self, is_fit: fn(&[u8]) -> bool) -> Result<&'de str, Error> {
        let quoted = self.raw()?;
        let text = quoted
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let fitting = text.filter(|text| is_fit(text.as_bytes()));
        Ok(fitting.unwrap_or(quoted))
    }

    /// The next value by `serde_json`.
    fn rare<T>(
        &mut self,
        read: impl FnOnce(&mut Inner<'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        whole(self.raw()?, read)
    }

    fn string<V: Visitor<'de>>(&mut self, mark: Mark, visitor: V) -> Result<V::Value, Error> {
        if mark.end & ESCAPED != 0 {
            return self.rare(|inner| inner.deserialize_str(visitor));
        }
        self.next += 1;
        visitor.visit_borrowed_str(self.slice(mark.at + 1, mark.end)?)
    }

    fn scalar<V: Visitor<'de>>(&mut self, mark: Mark, visitor: V) -> Result<V::Value, Error> {
        self.next += 1;
        let text = self.slice(mark.at, mark.end)?;
        match (text, small(text)) {
            ("true", _) => visitor.visit_bool(true),
            ("false", _) => visitor.visit_bool(false),
            (_, Some(number)) => visitor.visit_u64(number),
            _ => whole(text, |inner| inner.deserialize_any(visitor)),
        }
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
        self.next += 2;
        let mut elements = Elements {
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

/// The outline does not fit the text, which cannot be.
#[cold]
fn confused() -> Error {
    Error::custom("the outline does not fit the text")
}

/// A number of at most 18 digits, which is written as JSON wants it.
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

/// Reads `text` to its end with `serde_json`.
fn whole<'de, T>(
    text: &'de str,
    read: impl FnOnce(&mut Inner<'de>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut inner = Inner::from_str(text);
    let value = read(&mut inner)?;
    // Only a wide integer takes less than the value, what stands before the point.
    let float = Unexpected::Other("floating point number");
    let rest = inner.end();
    rest.map_err(|_| Error::invalid_type(float, &"an integer"))?;
    Ok(value)
}

/// What `serde_json` does.
macro_rules! rare {
    ($($method:ident($($name:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Error> {
            self.rare(|inner| inner.$method($($name,)* visitor))
        }
    )*};
}

/// What begins with one of these bytes is read here, anything else as `serde_json` does it.
macro_rules! usual {
    ($($method:ident($($name:ident: $type:ty),*): $first:pat => $read:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Error> {
            match self.peek()? {
                (mark, $first) => self.$read(mark, visitor),
                _ => self.rare(|inner| inner.$method($($name,)* visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de, '_> {
    type Error = Error;

    usual! {
        deserialize_map(): b'{' => map;
        deserialize_struct(name: &'static str, fields: &'static [&'static str]): b'{' => map;
        deserialize_seq(): b'[' => list;
        deserialize_str(): b'"' => string;
        deserialize_string(): b'"' => string;
        deserialize_identifier(): b'"' => string;
        deserialize_bool(): b't' | b'f' => scalar;
        deserialize_i8(): b'0'..=b'9' => scalar;
        deserialize_i16(): b'0'..=b'9' => scalar;
        deserialize_i32(): b'0'..=b'9' => scalar;
        deserialize_i64(): b'0'..=b'9' => scalar;
        deserialize_u8(): b'0'..=b'9' => scalar;
        deserialize_u16(): b'0'..=b'9' => scalar;
        deserialize_u32(): b'0'..=b'9' => scalar;
        deserialize_u64(): b'0'..=b'9' => scalar;
    }

    rare! {
        deserialize_i128() deserialize_u128() deserialize_f32() deserialize_f64() deserialize_char()
        deserialize_bytes() deserialize_byte_buf() deserialize_unit()
        deserialize_unit_struct(name: &'static str)
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
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
            (_, b'n') => self.rare(|inner| inner.deserialize_option(visitor)),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match name {
            RAW => self.rare(|inner| inner.deserialize_newtype_struct(name, visitor)),
            _ => visitor.visit_newtype_struct(self),
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

/// What is left of a list or of a map.
struct Elements<'r, 'de, 'a> {
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
        match self.take() {
            true => seed.deserialize(&mut *self.reader).map(Some),
            false => Ok(None),
        }
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
        match self.take() {
            true => seed.deserialize(Key(&mut *self.reader)).map(Some),
            false => Ok(None),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(&mut *self.reader)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left as usize)
    }
}

/// A key is a string whatever is read from it.
struct Key<'r, 'de, 'a>(&'r mut Reader<'de, 'a>);

/// A key of another type, which is written in quotes.
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
