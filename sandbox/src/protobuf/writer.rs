use super::reader::{BYTES, FIXED64, VARINT};

/// Writes a message from its end to its beginning, so that the length of an inner message is known when it is written
/// before the message.
#[derive(Default)]
pub(super) struct Writer {
    /// The bytes in reverse order.
    reversed: Vec<u8>,
}

impl Writer {
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.reversed.reverse();
        self.reversed
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    fn varint(&mut self, mut value: u64) {
        let mut bytes = [0; 10];
        let mut length = 0;
        for byte in &mut bytes {
            length += 1;
            *byte = (value & 0x7f) as u8;
            value >>= 7;
            if value == 0 {
                break;
            }
            *byte |= 0x80;
        }
        self.bytes(bytes.get(..length).unwrap_or_default());
    }

    fn tag(&mut self, number: u32, wire_type: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire_type));
    }

    pub(super) fn number(&mut self, number: u32, value: i64) {
        self.varint(value.cast_unsigned());
        self.tag(number, VARINT);
    }

    pub(super) fn double(&mut self, number: u32, value: f64) {
        self.bytes(&value.to_le_bytes());
        self.tag(number, FIXED64);
    }

    pub(super) fn value(&mut self, number: u32, bytes: &[u8]) {
        self.nested(number, |writer| writer.bytes(bytes));
    }

    /// Writes what `inner` writes as the value of a field.
    pub(super) fn nested(&mut self, number: u32, inner: impl FnOnce(&mut Self)) {
        let before = self.reversed.len();
        inner(self);
        self.varint((self.reversed.len() - before) as u64);
        self.tag(number, BYTES);
    }
}
