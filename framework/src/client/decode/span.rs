use tracing::span::EnteredSpan;

use crate::client::codec::{Encoded, Encoding};

/// A span around the decoding of `what`, at level trace. It holds no content.
pub(super) fn entered(what: &'static str, body: &Encoded) -> EnteredSpan {
    of_bytes(what, body.encoding, &body.bytes)
}

/// As [`entered`], for bytes.
pub(super) fn of_bytes(what: &'static str, encoding: Encoding, bytes: &[u8]) -> EnteredSpan {
    let encoding = encoding.media_type();
    tracing::trace_span!("decode", what, encoding, bytes = bytes.len()).entered()
}
