use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, DeserializeSeed},
};

use super::JsonIndex;
use crate::resource::ApiResource;

/// Reads and writes one encoding.
///
/// Reasons name the path and the expected type, never a value. Values that the type does not want are skipped at any
/// depth of nesting, without recursion. A value that the type wants is an error if it is nested deeper in the document
/// than [`DEEPEST`](crate::resource::DEEPEST) levels, so that no document overflows the stack. A caller that needs all
/// these levels for a part of a document reads the part as [`Raw`](Self::Raw) first.
pub(crate) trait Codec: Copy {
    /// A part of a document that is skipped now and read later.
    type Raw<'de>: Deserialize<'de> + Into<&'de [u8]>;

    /// The value `null`, as a part of a document.
    const NULL: &'static [u8];

    /// Whether the codec can write and read the kind. Other kinds are sent as JSON.
    fn takes(self, _resource: &ApiResource) -> bool {
        true
    }

    /// Reads one value, in one pass. Fails if anything follows it.
    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String>;

    /// Makes the index of a document, so that [`read_indexed`](Self::read_indexed) can read it later, for example on
    /// another thread. A codec may do nothing here.
    fn json_index(self, _bytes: &[u8], _json_index: &mut JsonIndex) {}

    /// As [`read`](Self::read), for a document whose index was made.
    fn read_indexed<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        _json_index: &JsonIndex,
        seed: S,
    ) -> Result<S::Value, String> {
        self.read(bytes, seed)
    }

    /// Writes one value.
    fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Vec<u8>, Unwritable>;

    /// Reads one value that borrows nothing.
    fn read_owned<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, String> {
        self.read(bytes, std::marker::PhantomData::<T>)
    }
}

/// A value could not be written. The error has no text, because a type's own message may quote a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unwritable;
