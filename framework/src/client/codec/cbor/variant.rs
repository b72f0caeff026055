use serde::{
    Deserializer,
    de::{DeserializeSeed, EnumAccess, Error, VariantAccess, Visitor},
};

use super::{super::key_reader::KeyReader, CborError, reader::Reader};

/// A variant of an enum: its name and its content, the only pair of a map.
pub(super) struct Variant<'a, 'de> {
    pub(super) reader: &'a mut Reader<'de>,
    /// The position of its name.
    pub(super) name: usize,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = CborError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), CborError> {
        let key = self.reader.text()?.ok_or_else(|| {
            CborError::custom("invalid type: something else, expected a variant's name")
        })?;
        Ok((seed.deserialize(KeyReader::<CborError>::new(key))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = CborError;

    fn unit_variant(self) -> Result<(), CborError> {
        self.reader
            .entry(self.name, |reader| serde::Deserialize::deserialize(reader))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, CborError> {
        self.reader
            .entry(self.name, |reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, CborError> {
        self.reader
            .entry(self.name, |reader| reader.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, CborError> {
        self.reader
            .entry(self.name, |reader| reader.deserialize_any(visitor))
    }
}
