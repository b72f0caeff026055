use std::fmt;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::client::{codec::Encoded, decode::decode_object};

/// An object as the bytes that the server sent, to be decoded again. Much smaller than the decoded object.
#[derive(Clone)]
pub(crate) struct EncodedObject(Encoded);

impl EncodedObject {
    /// Copies the bytes: those of `answer` are a part of the connection's read buffer.
    pub(crate) fn of(answer: &Encoded) -> Self {
        Self(Encoded {
            encoding: answer.encoding,
            bytes: Bytes::copy_from_slice(&answer.bytes),
        })
    }

    /// Decodes the object. `K` must be the type as which it was decoded before.
    pub(crate) fn read<K: DeserializeOwned>(&self) -> Option<K> {
        decode_object(&self.0, false).ok()
    }
}

/// Shows only the length, because the object may be a Secret.
impl fmt::Debug for EncodedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncodedObject({} bytes)", self.0.bytes.len())
    }
}
