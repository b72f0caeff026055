use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, DeserializeSeed},
};

use super::Outline;
use crate::resource::ApiResource;

/// Reading and writing of one encoding.
///
/// Reasons name the path and what was expected there, never a value. Values that the type does not want are stepped over
/// at any depth of nesting, without recursion. A value that the type wants is an error if it is nested deeper in the
/// document than [`DEEPEST`](crate::resource::DEEPEST) levels, so that no document overflows the stack. The caller reads
/// the parts of a document as [`Raw`](Self::Raw) first if they need all these levels for themselves.
pub(crate) trait Codec: Copy {
    /// A part of a document that is stepped over and read later.
    type Raw<'de>: Deserialize<'de> + Into<&'de [u8]>;

    /// Whether it can write and read the kind; the others go as JSON.
    fn takes(self, _resource: &ApiResource) -> bool {
        true
    }

    /// Reads one value, in one pass; whatever follows it is an error.
    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String>;

    /// Makes the outline of a document that is read along it later, on another thread maybe. A codec may do without.
    fn outline(self, _bytes: &[u8], _outline: &mut Outline) {}

    /// As [`read`](Self::read) of a document whose outline was made.
    fn read_along<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        _outline: &Outline,
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

/// A value refused to be written. It says no more, because a type's own message may quote a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unwritable;
