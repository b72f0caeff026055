//! Protobuf of Kubernetes, for the built-in kinds: it is read, and never written.
//!
//! The bytes do not say what their fields are, so a table does: for each message the numbers, names and types of its fields. It is made from
//! the Go types of Kubernetes (`tests/cluster/protobuf`), because JSON has other names than the `generated.proto` files, and because Go
//! decides by the type of a field whether JSON has it. No code is generated for a kind. So a type reads in protobuf what it reads in JSON:
//!
//! * Go writes each field that is not a pointer, even if it is zero. JSON lacks it if the field says `omitempty`. JSON has a field without
//!   `omitempty` even if no bytes have it.
//! * The fields of some messages stand in JSON in the place of the message.
//! * Some types have a form of their own: times, quantities, numbers that may be strings, JSON within an object, and parts of schemas.
//! * A text that is not UTF-8 gets replacement characters, as Go's JSON has them.
//! * Fields that the table does not have are those of a newer server. They are skipped.
//!
//! One thing has no place in protobuf: `kind` and `apiVersion` of an object within an object, as in the claims of a StatefulSet. A type of
//! k8s-openapi does not hold them.
//!
//! # What it relies on
//!
//! Go's generated code writes the fields of a message in the order of their numbers, and each one that has a single value once. Bytes in
//! another order are an error of the object: to read them, the reader would have to keep all its fields.
//!
//! An object is in an envelope, which names its kind. An item of a list has none, and an event of a watch has none either.
//!
//! | file | holds |
//! | --- | --- |
//! | `messages.txt`, `table.rs` | the messages of the built-in kinds |
//! | `wire.rs` | numbers, tags and lengths |
//! | `envelope.rs` | the envelope of an object |
//! | `fields.rs` | the fields of a message in the form of JSON, and those with many values |
//! | `form.rs` | the types with a form of their own |
//! | `outline.rs` | what a cache needs of an object |
//! | `input.rs` | a value that is read next, and the bytes of a part of a document |
//! | `reader.rs` | the `serde::Deserializer` |

mod envelope;
mod error;
mod fields;
mod form;
mod input;
mod outline;
mod reader;
mod table;
#[cfg(test)]
mod tests;
mod wire;

use std::{fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, SeqAccess, Visitor},
};

use super::{Codec, Cuts, Format, ObjectOutline, Opened};
use crate::resource::ApiResource;
pub(crate) use input::Shape;
use reader::{RAW, Reader};
use table::{Kind, table};

/// The protobuf of a built-in kind, or a part of it.
#[derive(Clone, Copy)]
pub(crate) struct Protobuf(pub(crate) Shape);

impl Protobuf {
    /// Whether there is a form in protobuf for objects of the kind.
    pub(crate) fn has(resource: &ApiResource) -> bool {
        let message = table().message_of(&resource.api_version(), &resource.kind);
        message.is_some()
    }
}

/// A part of a document.
pub(crate) struct ProtobufRaw<'a> {
    shape: Shape,
    bytes: &'a [u8],
}

impl<'de> Deserialize<'de> for ProtobufRaw<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;

        impl<'de> Visitor<'de> for Parts {
            type Value = ProtobufRaw<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a part of a document")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let (shape, bytes) = (parts.next_element()?, parts.next_element()?);
                let shape = shape.and_then(Shape::from_bits);
                let parts = shape.zip(bytes);
                let (shape, bytes) = parts.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                Ok(ProtobufRaw { shape, bytes })
            }
        }

        deserializer.deserialize_newtype_struct(RAW, Parts)
    }
}

impl Codec for Protobuf {
    type Raw<'de> = ProtobufRaw<'de>;

    fn format(self) -> Format {
        Format::Protobuf(self.0)
    }

    fn part<'de>(self, raw: Self::Raw<'de>) -> (Self, &'de [u8]) {
        (Self(raw.shape), raw.bytes)
    }

    fn opened<'de>(self, bytes: &'de [u8]) -> Result<Opened<'de, Self>, String> {
        let envelope = match self.0 {
            Shape::Document => envelope::Envelope::read(bytes),
            _ => Ok(None),
        };
        let opened = envelope.and_then(|envelope| {
            Ok(match envelope {
                None => Opened::of(self, bytes),
                Some(envelope) => Opened {
                    codec: Self(Shape::Value(Kind::Message(envelope.message()?))),
                    bytes: envelope.object,
                    types: [envelope.api_version, envelope.kind],
                },
            })
        });
        opened.map_err(|error| error.reason())
    }

    fn types_of(self, bytes: &[u8]) -> Option<[&str; 2]> {
        let envelope = envelope::Envelope::read(bytes).ok()??;
        Some([envelope.api_version, envelope.kind])
    }

    fn of_metadata(self, field: Option<&str>) -> Self {
        let message = table().object_meta;
        Self(match field {
            None => Shape::Value(Kind::Message(message)),
            Some(name) => message.field(name).map_or(Shape::Null, Shape::Run),
        })
    }

    fn outline<'de>(self, bytes: &'de [u8]) -> Option<ObjectOutline<'de>> {
        match self.0 {
            Shape::Value(Kind::Message(message)) => outline::outline(message, bytes),
            _ => None,
        }
    }

    fn cuts(self, bytes: &[u8], metadata: Range<usize>, part: Range<usize>) -> Cuts {
        // The length of the metadata stands before them: its last byte, and before it those with a sign that more follow.
        let Some(last) = metadata.start.checked_sub(1) else {
            return Cuts::default();
        };
        let before = bytes.get(..last).unwrap_or_default();
        let more = before.iter().rev().take_while(|byte| **byte >= 0x80);
        let start = last - more.count();
        let mut length = Vec::new();
        wire::write_varint((metadata.len() - part.len()) as u64, &mut length);
        Cuts::new([(start..metadata.start, &length), (part, &[])])
    }

    fn object_of_metadata(self, metadata: &[u8]) -> Vec<u8> {
        // The metadata of each kind are field 1, a message.
        let mut object = vec![1 << 3 | 2];
        wire::write_varint(metadata.len() as u64, &mut object);
        object.extend_from_slice(metadata);
        object
    }

    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String> {
        let mut reader = Reader::new(self.0, bytes).map_err(|error| error.reason())?;
        let value = seed.deserialize(&mut reader);
        value.map_err(|error| reader.into_error_path().describe(error.reason()))
    }
}
