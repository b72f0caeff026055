//! The part of protobuf's wire format that the server writes.

use bytes::{BufMut, BytesMut};

/// Appends a field with bytes.
pub(super) fn field(number: u32, bytes: &[u8], buffer: &mut BytesMut) {
    head(number, bytes.len(), buffer);
    buffer.put_slice(bytes);
}

/// Appends a field with a number.
pub(super) fn number(number: u32, value: u64, buffer: &mut BytesMut) {
    varint(u64::from(number << 3), buffer);
    varint(value, buffer);
}

/// Appends a field with the bytes that `write` writes.
pub(super) fn nested(number: u32, buffer: &mut BytesMut, write: impl FnOnce(&mut BytesMut)) {
    let mut inner = BytesMut::new();
    write(&mut inner);
    field(number, &inner, buffer);
}

/// Appends the head of a field, which precedes its bytes.
pub(super) fn head(number: u32, length: usize, buffer: &mut BytesMut) {
    varint(u64::from(number << 3 | 2), buffer);
    varint(length as u64, buffer);
}

/// Returns the size of a field whose number is below 16.
pub(super) fn field_size(length: usize) -> usize {
    let digits = (usize::BITS - (length | 1).leading_zeros()).div_ceil(7);
    1 + digits as usize + length
}

fn varint(mut value: u64, buffer: &mut BytesMut) {
    while value >= 0x80 {
        buffer.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    buffer.put_u8(value as u8);
}

/// Returns the number at the start of the bytes, and its size.
pub(super) fn read_varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0;
    for (place, byte) in bytes.iter().enumerate().take(9) {
        value |= usize::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            return Some((value, place + 1));
        }
    }
    None
}
