//! CBOR (RFC 8949) in the form that Kubernetes uses (KEP-4222).
//!
//! * A text is a text or a byte string, both in UTF-8. This code writes byte strings, as the Go code of Kubernetes
//!   does.
//! * A byte string within tag 21, 22 or 23 holds bytes that JSON would show in base64url, base64 or base16. The type
//!   gets that text.
//! * The tag 55799 ("this is CBOR") stands before a document, and is skipped wherever it stands. Other tags have no
//!   meaning. Big numbers, NaN and infinity are errors, because JSON does not have them.
//! * Arrays and maps may have an indefinite length. This code writes definite lengths.
//! * Items are skipped at any depth of nesting, and decoded in the outermost 127 levels of a document. The Go code
//!   writes up to 10 000 levels.
//!
//! So a type reads and writes in CBOR whatever it reads and writes in JSON.
//!
//! The crate minicbor reads and writes single items. This module adds serde with the rules above, which no crate has.

mod error;
mod items;
mod key_writer;
mod reader;
#[cfg(test)]
mod tests;
mod variant;
mod writer;

use std::ops::Range;

use serde::{Serialize, de::DeserializeSeed};

use super::{Codec, Cuts, Format, Unwritable, WriteCodec};
use error::CborError;
pub(crate) use items::Items;
use reader::Reader;
use writer::Writer;

/// The tag 55799, which says that CBOR follows.
const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];
/// The value `null`.
const NULL: &[u8] = &[0xf6];
/// The name by which a type asks for the bytes of a part of a document.
const RAW: &str = "$pilothouse::cbor::Raw";

/// CBOR as Kubernetes writes it.
#[derive(Clone, Copy)]
pub(crate) struct Cbor;

/// One item, as its bytes.
pub(crate) struct CborRaw<'a>(&'a [u8]);

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

    fn format(self) -> Format {
        Format::Cbor
    }

    fn part<'de>(self, raw: Self::Raw<'de>) -> (Self, &'de [u8]) {
        (self, raw.0)
    }

    fn cuts(self, _: &[u8], _: Range<usize>, part: Range<usize>) -> Cuts {
        Cuts::new([(0..0, &[]), (part, NULL)])
    }

    fn object_of_metadata(self, metadata: &[u8]) -> Vec<u8> {
        // A map with one field, whose key has eight bytes.
        [b"\xa1\x48metadata", metadata].concat()
    }

    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String> {
        let mut reader = Reader::new(bytes);
        let value = seed.deserialize(&mut reader);
        let whole = value.and_then(|value| reader.end().map(|()| value));
        whole.map_err(|error| reader.into_error_path().describe(error.reason()))
    }
}

impl WriteCodec for Cbor {
    fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Vec<u8>, Unwritable> {
        let mut writer = Writer::new();
        value.serialize(&mut writer).map_err(|_| Unwritable)?;
        Ok(writer.into_bytes())
    }
}
