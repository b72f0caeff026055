use super::{
    error::ProtobufError::{self, End, Malformed},
    table::Kind,
};

pub(super) const VARINT: u8 = 0;
const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// What stands before each value of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) number: u32,
    pub(super) wire_type: u8,
}

/// The rest of a message.
#[derive(Clone, Copy, Default)]
pub(super) struct Rest<'de>(pub(super) &'de [u8]);

impl<'de> Rest<'de> {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn varint(&mut self) -> Result<u64, ProtobufError> {
        // Most numbers are tags and lengths of one byte.
        if let [byte @ ..0x80, rest @ ..] = self.0 {
            self.0 = rest;
            return Ok(u64::from(*byte));
        }
        let mut value = 0;
        for (at, byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if *byte < 0x80 {
                self.0 = self.0.get(at + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        match self.0.len() < 10 {
            true => Err(End),
            false => Err(Malformed("a number of more than 64 bits")),
        }
    }

    pub(super) fn tag(&mut self) -> Result<Tag, ProtobufError> {
        let tag = self.varint()?;
        match u32::try_from(tag >> 3) {
            Ok(number) if number > 0 => Ok(Tag {
                number,
                wire_type: (tag & 7) as u8,
            }),
            _ => Err(Malformed("a field with an impossible number")),
        }
    }

    fn take(&mut self, length: u64) -> Result<&'de [u8], ProtobufError> {
        let length = usize::try_from(length).map_err(|_| End)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(End)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A value with its length before it.
    pub(super) fn bytes(&mut self) -> Result<&'de [u8], ProtobufError> {
        let length = self.varint()?;
        self.take(length)
    }

    /// The bytes of the value of a field of `kind`.
    pub(super) fn value(&mut self, tag: Tag, kind: Kind) -> Result<&'de [u8], ProtobufError> {
        if tag.wire_type != wire_type(kind) {
            return Err(Malformed("a field of another type"));
        }
        self.payload(kind)
    }

    /// The bytes of a value of `kind`, after its tag.
    pub(super) fn payload(&mut self, kind: Kind) -> Result<&'de [u8], ProtobufError> {
        match wire_type(kind) {
            VARINT => {
                let before = self.0;
                self.varint()?;
                Ok(before
                    .get(..before.len() - self.0.len())
                    .unwrap_or_default())
            }
            FIXED64 => self.take(8),
            _ => self.bytes(),
        }
    }

    /// Skips a value, whatever it is.
    pub(super) fn skip(&mut self, tag: Tag) -> Result<(), ProtobufError> {
        let mut wire_type = tag.wire_type;
        let mut groups = 0_usize;
        loop {
            match wire_type {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                BYTES => drop(self.bytes()?),
                START_GROUP => groups += 1,
                END_GROUP => {
                    let outer = groups.checked_sub(1);
                    groups = outer.ok_or(Malformed("the end of no group"))?;
                }
                FIXED32 => drop(self.take(4)?),
                _ => return Err(Malformed("a value of no known form")),
            }
            if groups == 0 {
                return Ok(());
            }
            wire_type = self.tag()?.wire_type;
        }
    }
}

pub(super) fn wire_type(kind: Kind) -> u8 {
    match kind {
        Kind::Bool | Kind::Int32 | Kind::Int64 => VARINT,
        Kind::Double => FIXED64,
        _ => BYTES,
    }
}

/// The number that [`Rest::payload`] has found. No bytes are zero.
pub(super) fn number(bytes: &[u8]) -> u64 {
    Rest(bytes).varint().unwrap_or_default()
}

/// The number of a [`Kind::Double`]. No bytes are zero.
pub(super) fn double(bytes: &[u8]) -> f64 {
    let bits = bytes.first_chunk().copied().unwrap_or_default();
    f64::from_le_bytes(bits)
}

/// Writes a number.
pub(super) fn write_varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written_and_not_beyond_64_bits() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            write_varint(value, &mut bytes);
            assert_eq!(Rest(&bytes).varint().ok(), Some(value));
            bytes.pop();
            assert!(matches!(Rest(&bytes).varint(), Err(End)));
        }
        assert!(matches!(Rest(&[0xff; 11]).varint(), Err(Malformed(_))));
    }

    #[test]
    fn groups_of_any_depth_are_skipped() {
        let tag = Tag {
            number: 9,
            wire_type: START_GROUP,
        };
        let depth = 100_000;
        let groups = [vec![0x4b; depth - 1], vec![0x4c; depth], vec![0x08]].concat();
        let mut rest = Rest(&groups);
        rest.skip(tag).unwrap();
        assert_eq!(rest.0, [0x08]);
        assert!(Rest(&[0x4b]).skip(tag).is_err());
    }
}
