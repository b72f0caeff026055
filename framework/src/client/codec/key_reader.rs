use std::{borrow::Cow, marker::PhantomData};

use serde::{
    Deserializer,
    de::{
        Error, Visitor,
        value::{BorrowedStrDeserializer, StringDeserializer},
    },
    forward_to_deserialize_any,
};

/// Decodes a key of a map: a text, which may stand for a number or a boolean as in JSON.
pub(super) struct KeyReader<'de, E> {
    key: Cow<'de, str>,
    error: PhantomData<fn() -> E>,
}

impl<'de, E> KeyReader<'de, E> {
    pub(super) fn new(key: Cow<'de, str>) -> Self {
        let error = PhantomData;
        Self { key, error }
    }
}

macro_rules! parsed {
    ($($method:ident => $visit:ident: $type:ty),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
            match self.key.parse::<$type>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => self.deserialize_any(visitor),
            }
        }
    )*};
}

impl<'de, E: Error> Deserializer<'de> for KeyReader<'de, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.key {
            Cow::Borrowed(key) => visitor.visit_borrowed_str(key),
            Cow::Owned(key) => visitor.visit_string(key),
        }
    }

    parsed! {
        deserialize_bool => visit_bool: bool,
        deserialize_i8 => visit_i8: i8, deserialize_i16 => visit_i16: i16,
        deserialize_i32 => visit_i32: i32, deserialize_i64 => visit_i64: i64,
        deserialize_u8 => visit_u8: u8, deserialize_u16 => visit_u16: u16,
        deserialize_u32 => visit_u32: u32, deserialize_u64 => visit_u64: u64,
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, E> {
        match self.key {
            Cow::Borrowed(key) => visitor.visit_enum(BorrowedStrDeserializer::new(key)),
            Cow::Owned(key) => visitor.visit_enum(StringDeserializer::<E>::new(key)),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, _: V) -> Result<V::Value, E> {
        Err(E::custom("invalid type: string, expected null"))
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf unit_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}
