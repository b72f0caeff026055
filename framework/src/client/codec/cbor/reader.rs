use std::borrow::Cow;

use base64::Engine;
use minicbor::{Decoder, data::Type};
use serde::{
    Deserializer,
    de::{
        DeserializeSeed, Error, MapAccess, SeqAccess, Unexpected, Visitor,
        value::{BorrowedStrDeserializer, StringDeserializer},
    },
    forward_to_deserialize_any,
};

use super::{
    super::{error_path::ErrorPath, key_reader::KeyReader, stack_bound::StackBound},
    CborError, RAW,
    variant::Variant,
};
use crate::resource::{DEEPEST, TOO_DEEP, TOO_DEEP_FOR_THE_STACK};

/// Decodes CBOR into any type that reads JSON.
pub(super) struct Reader<'de> {
    inner: Decoder<'de>,
    /// How many arrays and maps may still begin within the present one.
    levels: usize,
    stack: StackBound,
    error_path: ErrorPath,
}

impl<'de> Reader<'de> {
    pub(super) fn new(bytes: &'de [u8]) -> Self {
        Self {
            inner: Decoder::new(bytes),
            levels: DEEPEST,
            stack: StackBound::new(),
            error_path: ErrorPath::default(),
        }
    }

    /// The path to the error.
    pub(super) fn into_error_path(self) -> ErrorPath {
        self.error_path
    }

    /// Decodes a key, or its value. `key` is the position of the key.
    pub(super) fn entry<T>(
        &mut self,
        key: usize,
        read: impl FnOnce(&mut Self) -> Result<T, CborError>,
    ) -> Result<T, CborError> {
        let value = read(self);
        if value.is_err() {
            self.note_key(key);
        }
        value
    }

    #[cold]
    fn note_key(&mut self, key: usize) {
        let next = self.inner.position();
        self.inner.set_position(key);
        if let Ok(Some(key)) = self.text() {
            self.error_path.key(key.into_owned());
        }
        self.inner.set_position(next);
    }

    pub(super) fn position(&self) -> usize {
        self.inner.position()
    }

    /// Fails if anything follows.
    pub(super) fn end(&self) -> Result<(), CborError> {
        match self.left() {
            0 => Ok(()),
            _ => Err(CborError::Malformed("something follows the item")),
        }
    }

    fn left(&self) -> usize {
        let input = self.inner.input().len();
        input.saturating_sub(self.inner.position())
    }

    /// The type of the next item, and the tag before it that says how JSON shows its bytes.
    fn next_type(&mut self) -> Result<(Type, Option<ByteForm>), CborError> {
        let mut later = None;
        loop {
            match self.inner.datatype()? {
                Type::Tag => match self.inner.tag()?.as_u64() {
                    2 | 3 => return Err(CborError::Malformed("a number beyond 64 bits")),
                    21 => later = Some(ByteForm::Base64Url),
                    22 => later = Some(ByteForm::Base64),
                    23 => later = Some(ByteForm::Base16),
                    // One of them is the tag that says that CBOR follows.
                    _ => {}
                },
                other => return Ok((other, later)),
            }
        }
    }

    /// The text of the next item. `None` if it is not a text; then nothing is read.
    pub(super) fn text(&mut self) -> Result<Option<Cow<'de, str>>, CborError> {
        let (next, later) = self.next_type()?;
        self.text_of(next, later)
    }

    fn text_of(
        &mut self,
        next: Type,
        later: Option<ByteForm>,
    ) -> Result<Option<Cow<'de, str>>, CborError> {
        let bytes = match next {
            Type::Bytes => Cow::Borrowed(self.inner.bytes()?),
            Type::BytesIndef => {
                let mut whole = Vec::new();
                for part in self.inner.bytes_iter()? {
                    whole.extend_from_slice(part?);
                }
                Cow::Owned(whole)
            }
            Type::String => return Ok(Some(Cow::Borrowed(self.inner.str().map_err(text)?))),
            Type::StringIndef => {
                let mut whole = String::new();
                for part in self.inner.str_iter()? {
                    whole.push_str(part.map_err(text)?);
                }
                return Ok(Some(Cow::Owned(whole)));
            }
            _ => return Ok(None),
        };
        if let Some(later) = later {
            return Ok(Some(Cow::Owned(later.show(&bytes))));
        }
        Ok(Some(match bytes {
            Cow::Borrowed(bytes) => {
                Cow::Borrowed(std::str::from_utf8(bytes).map_err(|_| NOT_UTF8)?)
            }
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).map_err(|_| NOT_UTF8)?),
        }))
    }

    /// Decodes the content of an array or a map, one level down.
    pub(super) fn within<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, CborError>,
    ) -> Result<T, CborError> {
        self.levels = self
            .levels
            .checked_sub(1)
            .ok_or_else(|| CborError::custom(TOO_DEEP))?;
        if self.stack.is_reached() {
            return Err(CborError::custom(TOO_DEEP_FOR_THE_STACK));
        }
        let value = read(self)?;
        self.levels += 1;
        Ok(value)
    }

    /// Decodes the end of an array or a map. All its items must have been read.
    pub(super) fn close(&mut self, left: Option<u64>) -> Result<(), CborError> {
        match left {
            Some(0) => Ok(()),
            None if self.inner.datatype()? == Type::Break => self.skip(),
            _ => Err(CborError::custom(
                "invalid length of a list or map, expected fewer elements",
            )),
        }
    }

    /// The header of a map, if one is next.
    pub(super) fn map(&mut self) -> Result<Option<Option<u64>>, CborError> {
        let (next, _) = self.next_type()?;
        Ok(match next {
            Type::Map | Type::MapIndef => Some(self.inner.map()?),
            _ => None,
        })
    }

    fn skip(&mut self) -> Result<(), CborError> {
        match self.inner.datatype()? {
            Type::Break => self.inner.set_position(self.inner.position() + 1),
            _ => self.inner.skip()?,
        }
        Ok(())
    }

    fn is_null(&mut self) -> Result<bool, CborError> {
        Ok(self.inner.datatype()? == Type::Null)
    }

    fn half(&mut self) -> Result<f64, CborError> {
        let at = self.inner.position();
        let bytes = self.inner.input().get(at + 1..at + 3);
        let &[high, low] = bytes.unwrap_or_default() else {
            return Err(CborError::End);
        };
        self.inner.set_position(at + 3);
        Ok(half(u16::from_be_bytes([high, low])))
    }

    fn any<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, CborError> {
        let (next, later) = self.next_type()?;
        if let Some(text) = self.text_of(next, later)? {
            return match text {
                Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
                Cow::Owned(text) => visitor.visit_string(text),
            };
        }
        match next {
            Type::Null => {
                self.inner.null()?;
                visitor.visit_unit()
            }
            Type::Bool => visitor.visit_bool(self.inner.bool()?),
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => visitor.visit_u64(self.inner.u64()?),
            Type::I8 | Type::I16 | Type::I32 | Type::I64 => visitor.visit_i64(self.inner.i64()?),
            Type::F16 => visitor.visit_f64(finite(self.half()?)?),
            Type::F32 => visitor.visit_f64(finite(self.inner.f32()?.into())?),
            Type::F64 => visitor.visit_f64(finite(self.inner.f64()?)?),
            Type::Array | Type::ArrayIndef => {
                let left = self.inner.array()?;
                self.within(|reader| {
                    let mut items = Contents::new(reader, left);
                    let value = visitor.visit_seq(&mut items)?;
                    let left = items.left;
                    reader.close(left)?;
                    Ok(value)
                })
            }
            Type::Map | Type::MapIndef => {
                let left = self.inner.map()?;
                self.within(|reader| {
                    let mut pairs = Contents::new(reader, left);
                    let value = visitor.visit_map(&mut pairs)?;
                    let left = pairs.left;
                    reader.close(left)?;
                    Ok(value)
                })
            }
            Type::Int => Err(CborError::Malformed("a number beyond 64 bits")),
            _ => Err(CborError::Malformed("an item that JSON does not have")),
        }
    }
}

const NOT_UTF8: CborError = CborError::Malformed("a text that is not UTF-8");

fn text(error: minicbor::decode::Error) -> CborError {
    match error.is_end_of_input() {
        true => CborError::End,
        false => NOT_UTF8,
    }
}

fn finite(number: f64) -> Result<f64, CborError> {
    match number.is_finite() {
        true => Ok(number),
        false => Err(CborError::Malformed("a number that is not finite")),
    }
}

/// A number of 16 bits (IEEE 754 binary16): sign, 5 bits of exponent, 10 of fraction.
fn half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff);
    let size = match (bits >> 10) & 0x1f {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// How JSON shows bytes (RFC 8949, 3.4.5.2).
#[derive(Clone, Copy)]
enum ByteForm {
    Base64Url,
    Base64,
    Base16,
}

impl ByteForm {
    fn show(self, bytes: &[u8]) -> String {
        use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
        match self {
            Self::Base64Url => URL_SAFE_NO_PAD.encode(bytes),
            Self::Base64 => STANDARD.encode(bytes),
            Self::Base16 => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = CborError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CborError> {
        self.any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CborError> {
        if self.is_null()? {
            self.inner.null()?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, CborError> {
        if name != RAW {
            return visitor.visit_newtype_struct(self);
        }
        let start = self.inner.position();
        self.skip()?;
        let input: &'de [u8] = self.inner.input();
        let item = input.get(start..self.inner.position()).unwrap_or_default();
        visitor.visit_borrowed_bytes(item)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CborError> {
        match self.text()? {
            Some(Cow::Borrowed(text)) => visitor.visit_enum(BorrowedStrDeserializer::new(text)),
            Some(Cow::Owned(text)) => {
                visitor.visit_enum(StringDeserializer::<CborError>::new(text))
            }
            None => match self.map()? {
                Some(left) => self.within(|reader| {
                    // One pair, which the variant reads.
                    let left = match left {
                        Some(1) => Some(0),
                        None => None,
                        Some(_) => return Err(CborError::custom(NOT_A_VARIANT)),
                    };
                    let name = reader.position();
                    let value = visitor.visit_enum(Variant { reader, name })?;
                    reader.close(left)?;
                    Ok(value)
                }),
                None => Err(CborError::custom(NOT_A_VARIANT)),
            },
        }
    }

    /// A list of the fields in their order is not accepted, as in JSON.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CborError> {
        match self.next_type()?.0 {
            Type::Array | Type::ArrayIndef => {
                Err(CborError::invalid_type(Unexpected::Seq, &visitor))
            }
            _ => self.any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, CborError> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

const NOT_A_VARIANT: &str = "invalid type: something else, expected a string or a map of one entry";

/// The items of an array or a map. `None` if a break ends it.
struct Contents<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: Option<u64>,
    /// The index of the next item.
    index: usize,
    /// The position of the last key.
    key: usize,
}

impl<'a, 'de> Contents<'a, 'de> {
    fn new(reader: &'a mut Reader<'de>, left: Option<u64>) -> Self {
        Self {
            reader,
            left,
            index: 0,
            key: 0,
        }
    }

    fn has_next(&mut self) -> Result<bool, CborError> {
        match &mut self.left {
            Some(0) => Ok(false),
            Some(left) => {
                *left -= 1;
                Ok(true)
            }
            None => Ok(self.reader.inner.datatype()? != Type::Break),
        }
    }

    /// At most the number of remaining bytes.
    fn size(&self) -> Option<usize> {
        let left = usize::try_from(self.left?).unwrap_or(usize::MAX);
        Some(left.min(self.reader.left()))
    }
}

impl<'de> SeqAccess<'de> for Contents<'_, 'de> {
    type Error = CborError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, CborError> {
        if !self.has_next()? {
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
        self.size()
    }
}

impl<'de> MapAccess<'de> for Contents<'_, 'de> {
    type Error = CborError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, CborError> {
        if !self.has_next()? {
            return Ok(None);
        }
        self.key = self.reader.position();
        let key = self.reader.text()?.ok_or_else(|| {
            CborError::custom("invalid type: something else, expected a string as key")
        })?;
        let read = |_: &mut _| seed.deserialize(KeyReader::<CborError>::new(key));
        self.reader.entry(self.key, read).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, CborError> {
        self.reader
            .entry(self.key, |reader| seed.deserialize(reader))
    }

    fn size_hint(&self) -> Option<usize> {
        self.size()
    }
}
