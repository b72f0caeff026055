//! A codec with three properties of protobuf that JSON and CBOR lack: it knows only the built-in kinds, puts an
//! envelope around a document, and writes the length of a frame.

use std::ops::Range;

use serde::{Serialize, de::DeserializeSeed};

use super::{Codec, Cuts, Encoding, Format, Json, Unwritable, WriteCodec, json::JsonRaw};
use crate::resource::ApiResource;

/// Every encoding that has a writer, and any document: a test of what each codec promises runs with all of them. Protobuf has its own tests.
pub(crate) const ALL_ENCODINGS: &[Encoding] = &[
    Encoding::Json,
    #[cfg(feature = "cbor")]
    Encoding::Cbor,
    Encoding::Framed,
];

const ENVELOPE: &[u8] = b"k8s\0";

#[derive(Clone, Copy)]
pub(crate) struct Framed;

impl Framed {
    pub(super) fn has(resource: &ApiResource) -> bool {
        !resource.group.contains('.') || resource.group.ends_with(".k8s.io")
    }
}

impl Codec for Framed {
    type Raw<'de> = JsonRaw<'de>;

    fn format(self) -> Format {
        Format::Framed
    }

    fn part<'de>(self, raw: Self::Raw<'de>) -> (Self, &'de [u8]) {
        let (_, bytes) = Json.part(raw);
        (self, bytes)
    }

    fn cuts(self, bytes: &[u8], metadata: Range<usize>, part: Range<usize>) -> Cuts {
        Json.cuts(bytes, metadata, part)
    }

    fn object_of_metadata(self, metadata: &[u8]) -> Vec<u8> {
        Json.object_of_metadata(metadata)
    }

    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String> {
        // A part of a document has no envelope.
        Json.read(bytes.strip_prefix(ENVELOPE).unwrap_or(bytes), seed)
    }
}

impl WriteCodec for Framed {
    fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Vec<u8>, Unwritable> {
        Ok([ENVELOPE, &Json.write(value)?].concat())
    }
}
