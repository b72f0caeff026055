use std::ops::Range;

use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, DeserializeSeed},
};

use super::{Cuts, Format, JsonIndex, JsonPlace, ObjectOutline};

/// Reads one encoding.
///
/// Reasons name the path and the expected type, never a value. Values that the type does not want are skipped at any
/// depth of nesting, without recursion. A value that the type wants is an error if it is nested deeper in the document
/// than [`DEEPEST`](crate::resource::DEEPEST) levels, so that no document overflows the stack. A caller that needs all
/// these levels for a part of a document reads the part as [`Raw`](Self::Raw) first.
pub(crate) trait Codec: Copy {
    /// A part of a document that is skipped now and read later.
    type Raw<'de>: Deserialize<'de>;

    /// What the codec reads.
    fn format(self) -> Format;

    /// The bytes of a part of a document, and the codec that reads them.
    fn part<'de>(self, raw: Self::Raw<'de>) -> (Self, &'de [u8]);

    /// Takes an object out of its envelope. Most encodings have none.
    fn opened<'de>(self, bytes: &'de [u8]) -> Result<Opened<'de, Self>, String> {
        Ok(Opened::of(self, bytes))
    }

    /// The `apiVersion` and the `kind` of an object, if they stand at its beginning, as API servers write them.
    fn types_of(self, _bytes: &[u8]) -> Option<[&str; 2]> {
        None
    }

    /// The codec that reads the metadata of an object, or the bytes of that field of them, which has many values.
    fn of_metadata(self, _field: Option<&str>) -> Self {
        self
    }

    /// The outline of an object that is out of its envelope, if the codec can tell it without serde.
    fn outline<'de>(self, _bytes: &'de [u8]) -> Option<ObjectOutline<'de>> {
        None
    }

    /// What to change in the bytes of an object so that its metadata lose a part. Both ranges are places in the bytes.
    fn cuts(self, bytes: &[u8], metadata: Range<usize>, part: Range<usize>) -> Cuts;

    /// The document of an object that has these metadata and nothing else.
    fn object_of_metadata(self, metadata: &[u8]) -> Vec<u8>;

    /// Reads one value, in one pass. Fails if anything follows it.
    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String>;

    /// Makes the index of a document, for a later [`with_index`](Self::with_index), for example on another thread. A codec
    /// without an index does nothing here.
    fn json_index(self, _bytes: &[u8], _json_index: &mut JsonIndex) {}

    /// Calls `function` with the place of a document in its index, which is made if it was not made before. The parts of the
    /// document are then read [by the same index](Self::read_at). `None` if the encoding has no index, or the document is not
    /// valid.
    fn with_index<'de, T>(
        self,
        _bytes: &'de [u8],
        _made: Option<&JsonIndex>,
        function: impl FnOnce(Option<JsonPlace<'de, '_>>) -> T,
    ) -> T {
        function(None)
    }

    /// The place of a part of a document.
    fn place_of<'de, 'a>(
        self,
        _document: Option<JsonPlace<'de, 'a>>,
        _part: &Self::Raw<'de>,
    ) -> Option<JsonPlace<'de, 'a>> {
        None
    }

    /// As [`read`](Self::read), for bytes at a place in an index.
    fn read_at<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        _place: Option<JsonPlace<'de, '_>>,
        seed: S,
    ) -> Result<S::Value, String> {
        self.read(bytes, seed)
    }

    /// Reads one value that borrows nothing.
    fn read_owned<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, String> {
        self.read(bytes, std::marker::PhantomData::<T>)
    }
}

/// An object without its envelope.
pub(crate) struct Opened<'de, C> {
    pub(crate) codec: C,
    pub(crate) bytes: &'de [u8],
    /// The `apiVersion` and the `kind` that the envelope names. Both are empty if the object has no envelope.
    pub(crate) types: [&'de str; 2],
}

impl<'de, C> Opened<'de, C> {
    pub(crate) fn of(codec: C, bytes: &'de [u8]) -> Self {
        Self {
            codec,
            bytes,
            types: [""; 2],
        }
    }
}

/// Writes one encoding.
pub(crate) trait WriteCodec: Copy {
    /// Writes one value.
    fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Vec<u8>, Unwritable>;
}

/// A value could not be written. The error has no text, because a type's own message may quote a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unwritable;
