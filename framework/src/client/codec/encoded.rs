use bytes::Bytes;

use super::Encoding;

/// A whole document as it came, with its encoding.
#[derive(Clone)]
pub(crate) struct Encoded {
    pub(crate) encoding: Encoding,
    pub(crate) bytes: Bytes,
}

#[cfg(test)]
impl Encoded {
    pub(crate) fn json(bytes: impl Into<Bytes>) -> Self {
        Self {
            encoding: Encoding::Json,
            bytes: bytes.into(),
        }
    }
}
