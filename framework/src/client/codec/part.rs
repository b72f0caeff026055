use serde::de::DeserializeSeed;

use super::{Codec, Format, JsonPlace, with_codec};

/// A part of a document: what it is, its bytes, and its place in the index of the document, if there is one.
#[derive(Clone, Copy)]
pub(crate) struct Part<'de, 'a> {
    pub(crate) format: Format,
    pub(crate) bytes: &'de [u8],
    pub(crate) place: Option<JsonPlace<'de, 'a>>,
}

impl<'de, 'a> Part<'de, 'a> {
    /// Bytes without an index.
    pub(crate) fn of_bytes(format: Format, bytes: &'de [u8]) -> Self {
        Self {
            format,
            bytes,
            place: None,
        }
    }

    /// A part of a document whose place is `document`.
    pub(crate) fn of<C: Codec>(
        codec: C,
        document: Option<JsonPlace<'de, 'a>>,
        raw: C::Raw<'de>,
    ) -> Self {
        let place = codec.place_of(document, &raw);
        let (codec, bytes) = codec.part(raw);
        Self {
            format: codec.format(),
            bytes,
            place,
        }
    }

    /// Reads the part: see [`Codec::read`].
    ///
    /// # Errors
    /// The reason, which names a path and never a value.
    pub(crate) fn read<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, String> {
        with_codec!(self.format, codec => codec.read_at(self.bytes, self.place, seed))
    }
}
