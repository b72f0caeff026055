use serde::{
    Serialize, Serializer,
    ser::{Error, Impossible},
};

use super::{CborError, writer::Writer};

/// Encodes a key of a map as a text; numbers and booleans become text, as in JSON.
pub(super) struct KeyWriter<'a> {
    pub(super) writer: &'a mut Writer,
}

fn no_key<T>() -> Result<T, CborError> {
    Err(CborError::custom("a key that is not a text"))
}

type No = Impossible<(), CborError>;

macro_rules! shown {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method(self, value: $type) -> Result<(), CborError> {
            self.writer.text(&value.to_string())
        }
    )*};
}

impl Serializer for KeyWriter<'_> {
    type Ok = ();
    type Error = CborError;
    type SerializeSeq = No;
    type SerializeTuple = No;
    type SerializeTupleStruct = No;
    type SerializeTupleVariant = No;
    type SerializeMap = No;
    type SerializeStruct = No;
    type SerializeStructVariant = No;

    shown! {
        serialize_bool: bool, serialize_char: char,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_i128: i128, serialize_u128: u128,
    }

    fn serialize_f32(self, _: f32) -> Result<(), CborError> {
        no_key()
    }

    fn serialize_f64(self, _: f64) -> Result<(), CborError> {
        no_key()
    }

    fn serialize_str(self, value: &str) -> Result<(), CborError> {
        self.writer.text(value)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), CborError> {
        no_key()
    }

    fn serialize_none(self) -> Result<(), CborError> {
        no_key()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CborError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), CborError> {
        no_key()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), CborError> {
        no_key()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), CborError> {
        self.writer.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), CborError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), CborError> {
        no_key()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<No, CborError> {
        no_key()
    }

    fn serialize_tuple(self, _: usize) -> Result<No, CborError> {
        no_key()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<No, CborError> {
        no_key()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<No, CborError> {
        no_key()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<No, CborError> {
        no_key()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<No, CborError> {
        no_key()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<No, CborError> {
        no_key()
    }
}
