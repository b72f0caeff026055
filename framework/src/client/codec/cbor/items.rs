use minicbor::{Decoder, data::Type};

use super::CborError;
use crate::client::BoxError;

/// Finds the end of the first item of a sequence (RFC 8742) while its bytes come.
///
/// It remembers its position, so an item that comes in a thousand pieces is scanned once. The item may be nested to any
/// depth; each level takes four bytes of memory.
#[derive(Default)]
pub(crate) struct Items {
    /// The bytes scanned so far. No header begins before this position.
    seen: usize,
    /// The number of missing items in each open array and map, or [`INDEFINITE`].
    open: Vec<u32>,
}

/// A break ends this array or map.
const INDEFINITE: u32 = u32::MAX;

impl Items {
    /// The end of the item. `None` if it has not come yet.
    pub(crate) fn cut(&mut self, buffer: &[u8]) -> Result<Option<usize>, BoxError> {
        match self.look(buffer) {
            Ok(()) => {
                self.open.clear();
                Ok(Some(std::mem::take(&mut self.seen)))
            }
            Err(CborError::End) => Ok(None),
            Err(error) => Err(error.reason().into()),
        }
    }

    fn look(&mut self, buffer: &[u8]) -> Result<(), CborError> {
        loop {
            let mut decoder = Decoder::new(buffer);
            decoder.set_position(self.seen);
            let is_whole = match decoder.datatype()? {
                // The tagged item follows.
                Type::Tag => {
                    decoder.tag()?;
                    self.seen = decoder.position();
                    continue;
                }
                Type::Array | Type::ArrayIndef => {
                    let items = decoder.array()?;
                    self.begin(items)?
                }
                Type::Map | Type::MapIndef => {
                    let pairs = decoder.map()?;
                    self.begin(pairs.map(|pairs| pairs.saturating_mul(2)))?
                }
                Type::BytesIndef | Type::StringIndef => {
                    decoder.set_position(self.seen + 1);
                    self.begin(None)?
                }
                Type::Break => {
                    decoder.set_position(self.seen + 1);
                    match self.open.pop() {
                        Some(INDEFINITE) => true,
                        _ => return Err(CborError::Malformed("a break where nothing is open")),
                    }
                }
                Type::Unknown(_) => {
                    return Err(CborError::Malformed("a byte that begins no item"));
                }
                // The bytes of a string are only counted here.
                Type::Bytes | Type::String => {
                    decoder.set_position(string_end(buffer, self.seen)?);
                    true
                }
                _ => {
                    decoder.skip()?;
                    true
                }
            };
            self.seen = decoder.position();
            if is_whole && self.is_last() {
                return Ok(());
            }
        }
    }

    /// Opens an array or a map. Returns whether it is complete, because it is empty.
    fn begin(&mut self, items: Option<u64>) -> Result<bool, CborError> {
        let missing = match items {
            Some(0) => return Ok(true),
            // No frame is long enough for so many items.
            Some(items) => u32::try_from(items)
                .ok()
                .filter(|items| *items != INDEFINITE)
                .ok_or(CborError::Malformed(
                    "an array or map of 4 294 967 295 items or more",
                ))?,
            None => INDEFINITE,
        };
        self.open.push(missing);
        Ok(false)
    }

    /// Counts one item. Returns whether it was the last of all.
    fn is_last(&mut self) -> bool {
        while let Some(last) = self.open.last_mut() {
            match *last {
                INDEFINITE => return false,
                0 | 1 => drop(self.open.pop()),
                left => {
                    *last = left - 1;
                    return false;
                }
            }
        }
        true
    }
}

/// The end of the string of definite length at `start`. It may be past the buffer.
fn string_end(buffer: &[u8], start: usize) -> Result<usize, CborError> {
    let header = buffer.get(start..).unwrap_or_default();
    // The length of a string is encoded as an unsigned number is.
    let mut number = [0; 9];
    let taken = header.len().min(number.len());
    for (to, from) in number.iter_mut().zip(header) {
        *to = *from;
    }
    number[0] &= 0x1f;
    let mut decoder = Decoder::new(number.get(..taken).unwrap_or_default());
    let length = usize::try_from(decoder.u64()?).unwrap_or(usize::MAX);
    let end = (start + decoder.position()).saturating_add(length);
    match end <= buffer.len() {
        true => Ok(end),
        false => Err(CborError::End),
    }
}
