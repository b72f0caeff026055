//! Bodies and answers in CBOR.

use bytes::Bytes;
use pilothouse_sandbox::internals::body;
use serde_json::Value;

pub(crate) const CBOR: &str = "application/cbor";
/// A watch.
pub(crate) const SEQUENCE: &str = "application/cbor-seq";

/// Writes a value.
pub(crate) fn encode(value: &Value) -> Bytes {
    body::to_cbor(&serde_json::to_vec(value).unwrap())
}

/// Reads a document.
pub(crate) fn document(bytes: &[u8]) -> Result<Value, String> {
    body::decode(CBOR, &Bytes::copy_from_slice(bytes))
}

/// Reads the documents of a sequence.
pub(crate) fn sequence(mut bytes: &[u8]) -> Result<Value, String> {
    let mut documents = Vec::new();
    while !bytes.is_empty() {
        let length = length(bytes).ok_or("a document that is not whole")?;
        let (first, rest) = bytes.split_at(length);
        documents.push(document(first)?);
        bytes = rest;
    }
    Ok(documents.into())
}

/// The length of the item with which these bytes begin. `None` if it is not whole.
fn length(bytes: &[u8]) -> Option<usize> {
    let (first, rest) = bytes.split_first()?;
    let (kind, info) = (first >> 5, first & 0x1f);
    let width = match info {
        0..=23 => 0,
        24..=27 => 1 << (info - 24),
        _ => return None,
    };
    let written = rest.get(..width)?.iter();
    let number = match width {
        0 => usize::from(info),
        _ => written.fold(0, |number, byte| (number << 8) | usize::from(*byte)),
    };
    let head = 1 + width;
    let items =
        |count: usize| (0..count).try_fold(head, |at, _| Some(at + length(bytes.get(at..)?)?));
    let end = match kind {
        0 | 1 | 7 => head,
        2 | 3 => head.checked_add(number)?,
        4 => items(number)?,
        5 => items(number.checked_mul(2)?)?,
        _ => items(1)?,
    };
    (end <= bytes.len()).then_some(end)
}
