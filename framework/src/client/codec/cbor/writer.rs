use minicbor::Encoder;
use serde::{
    Serialize, Serializer,
    ser::{
        Error, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

use super::{CborError, SELF_DESCRIBED, key_writer::KeyWriter};

/// Encodes CBOR from any type that writes JSON.
pub(super) struct Writer {
    inner: Encoder<Vec<u8>>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self {
            inner: Encoder::new(SELF_DESCRIBED.to_vec()),
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.inner.into_writer()
    }

    pub(super) fn text(&mut self, text: &str) -> Result<(), CborError> {
        self.inner.bytes(text.as_bytes())?;
        Ok(())
    }

    fn open(&mut self, form: Form, items: Option<usize>) -> Result<Open<'_>, CborError> {
        let start = self.inner.writer().len();
        // Room for the number of items, which is known at the end.
        let number = items.map_or(u64::from(u32::MAX), |items| items as u64);
        match form {
            Form::List => self.inner.array(number)?,
            Form::Map => self.inner.map(number)?,
        };
        Ok(Open {
            writer: self,
            announced: items,
            start,
            count: 0,
        })
    }

    /// `{"<variant>": …}`. The content follows.
    fn variant(&mut self, variant: &str) -> Result<(), CborError> {
        self.inner.map(1)?;
        self.text(variant)
    }
}

enum Form {
    List,
    Map,
}

/// A list or map that is being written.
pub(super) struct Open<'a> {
    writer: &'a mut Writer,
    announced: Option<usize>,
    /// The position of its header.
    start: usize,
    count: usize,
}

impl Open<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), CborError> {
        self.count += 1;
        item.serialize(&mut *self.writer)
    }

    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CborError> {
        self.count += 1;
        key.serialize(KeyWriter {
            writer: self.writer,
        })
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), CborError> {
        self.count += 1;
        self.writer.text(key)?;
        value.serialize(&mut *self.writer)
    }

    fn close(self) -> Result<(), CborError> {
        match self.announced {
            Some(announced) if announced == self.count => Ok(()),
            Some(_) => Err(CborError::custom(
                "the type wrote more or fewer items than it announced",
            )),
            None => {
                let count = u32::try_from(self.count)
                    .map_err(|_| CborError::custom("it has more than 2^32 parts"))?;
                let room = self.start + 1..self.start + 5;
                if let Some(room) = self.writer.inner.writer_mut().get_mut(room) {
                    room.copy_from_slice(&count.to_be_bytes());
                }
                Ok(())
            }
        }
    }
}

macro_rules! numbers {
    ($($method:ident: $type:ty => $write:ident),* $(,)?) => {$(
        fn $method(self, value: $type) -> Result<(), CborError> {
            self.inner.$write(value.into())?;
            Ok(())
        }
    )*};
}

impl<'a> Serializer for &'a mut Writer {
    type Ok = ();
    type Error = CborError;
    type SerializeSeq = Open<'a>;
    type SerializeTuple = Open<'a>;
    type SerializeTupleStruct = Open<'a>;
    type SerializeTupleVariant = Open<'a>;
    type SerializeMap = Open<'a>;
    type SerializeStruct = Open<'a>;
    type SerializeStructVariant = Open<'a>;

    numbers! {
        serialize_bool: bool => bool,
        serialize_i8: i8 => i64, serialize_i16: i16 => i64,
        serialize_i32: i32 => i64, serialize_i64: i64 => i64,
        serialize_u8: u8 => u64, serialize_u16: u16 => u64,
        serialize_u32: u32 => u64, serialize_u64: u64 => u64,
    }

    fn serialize_i128(self, value: i128) -> Result<(), CborError> {
        if let Ok(value) = u64::try_from(value) {
            return self.serialize_u64(value);
        }
        let value = i64::try_from(value);
        self.serialize_i64(value.map_err(|_| CborError::custom("a number beyond 64 bits"))?)
    }

    fn serialize_u128(self, value: u128) -> Result<(), CborError> {
        let value = u64::try_from(value);
        self.serialize_u64(value.map_err(|_| CborError::custom("a number beyond 64 bits"))?)
    }

    /// Encodes the decimal form, as JSON does: 0.1 stays 0.1 and does not become 0.10000000149.
    fn serialize_f32(self, value: f32) -> Result<(), CborError> {
        let decimal = value.to_string().parse();
        self.serialize_f64(decimal.unwrap_or_else(|_| value.into()))
    }

    fn serialize_f64(self, value: f64) -> Result<(), CborError> {
        if !value.is_finite() {
            return self.serialize_unit();
        }
        self.inner.f64(value)?;
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), CborError> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), CborError> {
        self.text(value)
    }

    /// A list of numbers, as in JSON.
    fn serialize_bytes(self, value: &[u8]) -> Result<(), CborError> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), CborError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CborError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), CborError> {
        self.inner.null()?;
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), CborError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), CborError> {
        self.text(variant)
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
        variant: &'static str,
        value: &T,
    ) -> Result<(), CborError> {
        self.variant(variant)?;
        value.serialize(self)
    }

    fn serialize_seq(self, items: Option<usize>) -> Result<Open<'a>, CborError> {
        self.open(Form::List, items)
    }

    fn serialize_tuple(self, items: usize) -> Result<Open<'a>, CborError> {
        self.open(Form::List, Some(items))
    }

    fn serialize_tuple_struct(self, _: &'static str, items: usize) -> Result<Open<'a>, CborError> {
        self.open(Form::List, Some(items))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        items: usize,
    ) -> Result<Open<'a>, CborError> {
        self.variant(variant)?;
        self.open(Form::List, Some(items))
    }

    fn serialize_map(self, items: Option<usize>) -> Result<Open<'a>, CborError> {
        self.open(Form::Map, items)
    }

    fn serialize_struct(self, _: &'static str, items: usize) -> Result<Open<'a>, CborError> {
        self.open(Form::Map, Some(items))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        items: usize,
    ) -> Result<Open<'a>, CborError> {
        self.variant(variant)?;
        self.open(Form::Map, Some(items))
    }
}

macro_rules! lists {
    ($($trait:ident::$method:ident)*) => {$(
        impl $trait for Open<'_> {
            type Ok = ();
            type Error = CborError;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), CborError> {
                self.item(item)
            }

            fn end(self) -> Result<(), CborError> {
                self.close()
            }
        }
    )*};
}

macro_rules! structs {
    ($($trait:ident)*) => {$(
        impl $trait for Open<'_> {
            type Ok = ();
            type Error = CborError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), CborError> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), CborError> {
                self.close()
            }
        }
    )*};
}

lists! {
    SerializeSeq::serialize_element
    SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}
structs! { SerializeStruct SerializeStructVariant }

impl SerializeMap for Open<'_> {
    type Ok = ();
    type Error = CborError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CborError> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CborError> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), CborError> {
        self.close()
    }
}
