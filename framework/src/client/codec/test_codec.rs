//! A codec with three properties of protobuf that JSON and CBOR lack: it knows only the built-in kinds, puts an
//! envelope around a document, and writes the length of a frame.

use serde::{Serialize, de::DeserializeSeed};

use super::{Codec, Encoding, Json, Unwritable, json::JsonRaw};
use crate::resource::ApiResource;

/// Every encoding: a test of what each codec promises runs with all of them.
pub(crate) const ALL_ENCODINGS: &[Encoding] = &[
    Encoding::Json,
    #[cfg(feature = "cbor")]
    Encoding::Cbor,
    Encoding::Framed,
];

const ENVELOPE: &[u8] = b"k8s\0";

#[derive(Clone, Copy)]
pub(crate) struct Framed;

impl Codec for Framed {
    type Raw<'de> = JsonRaw<'de>;

    const NULL: &'static [u8] = Json::NULL;

    fn takes(self, resource: &ApiResource) -> bool {
        !resource.group.contains('.') || resource.group.ends_with(".k8s.io")
    }

    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String> {
        // A part of a document has no envelope.
        Json.read(bytes.strip_prefix(ENVELOPE).unwrap_or(bytes), seed)
    }

    fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Vec<u8>, Unwritable> {
        Ok([ENVELOPE, &Json.write(value)?].concat())
    }
}

/// The end of a frame that begins with its length.
pub(super) fn cut(buffer: &[u8]) -> Option<usize> {
    let (length, _) = buffer.split_first_chunk()?;
    let end = 4 + usize::try_from(u32::from_be_bytes(*length)).ok()?;
    (buffer.len() >= end).then_some(end)
}
