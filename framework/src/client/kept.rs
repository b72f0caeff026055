use std::fmt;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::{codec::Encoded, decode::decode_object};

/// An object as the server answered it, to be read again: much smaller than the object.
#[derive(Clone)]
pub(crate) struct Kept(Encoded);

impl Kept {
    /// A copy: what came is a part of what the connection has read.
    pub(super) fn of(answer: &Encoded) -> Self {
        Self(Encoded {
            encoding: answer.encoding,
            bytes: Bytes::copy_from_slice(&answer.bytes),
        })
    }

    /// The object, of the type as which it was read before.
    pub(crate) fn read<K: DeserializeOwned>(&self) -> Option<K> {
        decode_object(&self.0, false).ok()
    }
}

/// Shows the length at most: it may be a Secret.
impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept({} bytes)", self.0.bytes.len())
    }
}
