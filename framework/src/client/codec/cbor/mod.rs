//! CBOR (RFC 8949) in the form that Kubernetes gives it (KEP-4222).
//!
//! * A text is a text or a byte string, both UTF-8; written are byte strings, as Go's side does.
//! * A byte string within tag 21, 22 or 23 is bytes that JSON would show in base64url, base64 or
//!   base16; the type sees that text.
//! * The tag 55799 ("this is CBOR") stands before a document and is stepped over wherever it is.
//!   Other tags say nothing; big numbers, NaN and infinity are errors, as they have no JSON.
//! * Arrays and maps may have an indefinite length; written ones have a definite one.
//! * Items are stepped over at any depth of nesting, and read in the outermost 127 levels of a document. Go's side writes
//!   up to 10 000 levels.
//!
//! So whatever a type reads from and writes to JSON it reads from and writes to CBOR.
//!
//! The crate minicbor does the wire format; what is here is serde on top of it with the rules above,
//! which no crate has.

mod error;
mod items;
mod key_reader;
mod key_writer;
mod reader;
#[cfg(test)]
mod tests;
mod variant;
mod writer;

use serde::{Serialize, de::DeserializeSeed};

use super::{Codec, Unwritable};
use error::CborError;
pub(crate) use items::Items;
use reader::Reader;
use writer::Writer;

/// The tag 55799, which says: this is CBOR.
const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];
/// The name under which a part of a document is asked for as its bytes.
const RAW: &str = "$pilothouse::cbor::Raw";

/// CBOR as Kubernetes writes it.
#[derive(Clone, Copy)]
pub(crate) struct Cbor;

/// One item, as its bytes.
pub(crate) struct CborRaw<'a>(&'a [u8]);

impl<'a> From<CborRaw<'a>> for &'a [u8] {
    fn from(raw: CborRaw<'a>) -> Self {
        raw.0
    }
}

impl<'de> serde::Deserialize<'de> for CborRaw<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl<'de> serde::de::Visitor<'de> for Bytes {
            type Value = CborRaw<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an item")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<CborRaw<'de>, E> {
                Ok(CborRaw(bytes))
            }
        }

        deserializer.deserialize_newtype_struct(RAW, Bytes)
    }
}

impl Codec for Cbor {
    type Raw<'de> = CborRaw<'de>;

    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String> {
        let mut reader = Reader::new(bytes);
        let value = seed.deserialize(&mut reader);
        let whole = value.and_then(|value| reader.end().map(|()| value));
        whole.map_err(|error| reader.into_trail().lead_to(error.reason()))
    }

    fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Vec<u8>, Unwritable> {
        let mut writer = Writer::new();
        value.serialize(&mut writer).map_err(|_| Unwritable)?;
        Ok(writer.into_bytes())
    }
}
