use super::decode::Malformed;

/// Reads the parts of a message, with the limits and the errors of the code that gogo/protobuf generates.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

/// What stands before each value.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    /// Not larger than a 32-bit number, and positive in a valid message.
    pub(super) number: i32,
    pub(super) wire_type: u8,
    pub(super) raw: u64,
}

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
const START_GROUP: u8 = 3;
pub(super) const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or(Malformed::UnexpectedEnd)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed::Overflow)
    }

    pub(super) fn tag(&mut self) -> Result<Tag, Malformed> {
        let raw = self.varint()?;
        Ok(Tag {
            // Generated code cuts the number off.
            number: (raw >> 3) as i32,
            wire_type: (raw & 7) as u8,
            raw,
        })
    }

    /// The end of a value whose length comes next.
    pub(super) fn end_of_value(&mut self) -> Result<usize, Malformed> {
        let length = self.varint()?;
        let end = self.after(length)?;
        if end > self.bytes.len() {
            return Err(Malformed::UnexpectedEnd);
        }
        Ok(end)
    }

    /// A value with its length before it.
    pub(super) fn value(&mut self) -> Result<&'a [u8], Malformed> {
        let end = self.end_of_value()?;
        let value = self.bytes.get(self.at..end);
        self.at = end;
        value.ok_or(Malformed::UnexpectedEnd)
    }

    pub(super) fn fixed64(&mut self) -> Result<u64, Malformed> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (value, _) = rest.split_first_chunk().ok_or(Malformed::UnexpectedEnd)?;
        self.at += 8;
        Ok(u64::from_le_bytes(*value))
    }

    /// Skips a field that starts at `start`, which must end at `limit` or before.
    pub(super) fn skip(&mut self, start: usize, limit: usize) -> Result<(), Malformed> {
        self.at = start;
        let mut depth = 0_usize;
        while !self.is_at_end() {
            let tag = self.tag()?;
            match tag.wire_type {
                VARINT => drop(self.varint()?),
                FIXED64 => self.at += 8,
                BYTES => {
                    let length = self.varint()?;
                    self.at = self.after(length)?;
                }
                START_GROUP => depth += 1,
                END_GROUP => depth = depth.checked_sub(1).ok_or(Malformed::EndOfGroup)?,
                FIXED32 => self.at += 4,
                other => return Err(Malformed::WireType(other)),
            }
            if depth == 0 {
                return match self.at > limit {
                    true => Err(Malformed::UnexpectedEnd),
                    false => Ok(()),
                };
            }
        }
        Err(Malformed::UnexpectedEnd)
    }

    /// The position `length` bytes later. Go's lengths and positions are signed.
    fn after(&self, length: u64) -> Result<usize, Malformed> {
        let length = i64::try_from(length).map_err(|_| Malformed::NegativeLength)?;
        let length = usize::try_from(length).map_err(|_| Malformed::NegativeLength)?;
        let end = self.at.checked_add(length);
        end.filter(|end| isize::try_from(*end).is_ok())
            .ok_or(Malformed::NegativeLength)
    }
}
