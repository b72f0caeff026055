//! The index of a JSON text: where each value begins and ends, found in one pass.
//!
//! Values may be nested to any depth. The end of each is found without recursion. Only the outermost [`DEEPEST`] levels
//! get marks, so that a reader of them needs a bounded stack.

use crate::resource::DEEPEST;

/// A value, or the key of an entry. A list or a map has two marks; the second one tells its extent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// For a value, the position of its first byte in the text; for a string, that of its opening quote. For an extent,
    /// the number of items or entries, or [`TOO_DEEP`].
    pub(super) at: u32,
    /// For a string, the position of its closing quote, with [`ESCAPED`] if it contains a backslash. For a list or a
    /// map, the index of the first mark after it. For any other value, and for an extent, the position after its last
    /// byte.
    pub(super) end: u32,
}

/// The string contains escapes.
pub(super) const ESCAPED: u32 = 1 << 31;

/// The list or map lies deeper than [`DEEPEST`]. Its content has no marks.
pub(super) const TOO_DEEP: u32 = u32::MAX;

/// The marks of a text. The memory is used again for the next text.
#[derive(Default)]
pub(crate) struct JsonIndex {
    marks: Vec<Mark>,
    /// The lists and maps that have begun and not ended.
    open: Vec<Open>,
    is_whole: bool,
}

impl JsonIndex {
    /// The length limit of a text, in bytes.
    pub(super) const LARGEST: usize = ESCAPED as usize - 1;

    /// Memory for this many marks is kept for the next text.
    const RETAINED_MARKS: usize = 1 << 14;

    /// Makes the marks of `text`, in its order.
    ///
    /// There are no marks if `text` is not one JSON value, or is larger than [`Self::LARGEST`]. Two errors are not
    /// found here, but by the reader of a string: halves of surrogate pairs, and bytes that are not UTF-8.
    pub(super) fn make(&mut self, text: &[u8]) {
        self.marks.clear();
        self.open.clear();
        let mut scan = Scan {
            text,
            at: 0,
            marks: &mut self.marks,
        };
        self.is_whole = text.len() <= Self::LARGEST && scan.run(&mut self.open).is_some();
    }

    /// The marks of the last text.
    pub(super) fn marks(&self) -> Option<&[Mark]> {
        self.is_whole.then_some(&self.marks)
    }

    /// Frees memory that an unusually large text took.
    pub(crate) fn shrink(&mut self) {
        if self.marks.capacity() > Self::RETAINED_MARKS {
            *self = Self::default();
        }
    }
}

/// A list or map that has begun and not ended.
#[derive(Clone, Copy)]
struct Open {
    mark: usize,
    count: u32,
    is_map: bool,
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    marks: &'a mut Vec<Mark>,
}

impl Scan<'_> {
    /// `None` if the text is not JSON.
    fn run(&mut self, outer: &mut Vec<Open>) -> Option<()> {
        // The list or map around the present value. `None` at first.
        let mut within: Option<Open> = None;
        loop {
            match self.next()? {
                b'"' => self.string()?,
                begin @ (b'{' | b'[') => {
                    let level = outer.len() + usize::from(within.is_some());
                    let mut open = self.open(begin == b'{');
                    if level == DEEPEST {
                        self.step_over(open)?;
                    } else if self.next()? == open.end() {
                        self.close(open);
                    } else {
                        self.begin(&mut open)?;
                        outer.extend(within.replace(open));
                        continue;
                    }
                }
                _ => self.scalar()?,
            }
            // A value is complete.
            loop {
                let Some(open) = &mut within else {
                    return self.rest_is_space().then_some(());
                };
                let next = self.next()?;
                if next == b',' {
                    self.at += 1;
                    self.begin(open)?;
                    break;
                }
                if next != open.end() {
                    return None;
                }
                self.close(*open);
                within = outer.pop();
            }
        }
    }

    /// Scans the rest of a list or map whose content is too deep to be read. It may be nested to any depth, and takes
    /// one byte of memory for each level.
    #[cold]
    fn step_over(&mut self, mut outermost: Open) -> Option<()> {
        let marks = self.marks.len();
        // The missing closing brackets.
        let mut ends = vec![outermost.end()];
        let mut has_begun = true;
        loop {
            let end = *ends.last()?;
            if has_begun && self.next()? == end {
                has_begun = false;
            } else {
                let mut item = Open {
                    is_map: end == b'}',
                    ..outermost
                };
                self.begin(&mut item)?;
                let first = self.next()?;
                has_begun = matches!(first, b'{' | b'[');
                match first {
                    b'{' => ends.push(b'}'),
                    b'[' => ends.push(b']'),
                    b'"' => self.string()?,
                    _ => self.scalar()?,
                }
                self.marks.truncate(marks);
                if has_begun {
                    self.at += 1;
                    continue;
                }
            }
            // A value is complete, or the present list or map ends.
            loop {
                let next = self.next()?;
                if next == b',' {
                    self.at += 1;
                    break;
                }
                if next != *ends.last()? {
                    return None;
                }
                ends.pop();
                if ends.is_empty() {
                    outermost.count = TOO_DEEP;
                    self.close(outermost);
                    return Some(());
                }
                self.at += 1;
            }
        }
    }

    /// Begins a list or map.
    fn open(&mut self, is_map: bool) -> Open {
        let mark = self.marks.len();
        self.mark(self.at, 0);
        self.mark(0, 0);
        self.at += 1;
        Open {
            mark,
            count: 0,
            is_map,
        }
    }

    /// Scans an item or an entry, up to its value.
    fn begin(&mut self, open: &mut Open) -> Option<()> {
        open.count += 1;
        if open.is_map {
            if self.next()? != b'"' {
                return None;
            }
            self.string()?;
            if self.next()? != b':' {
                return None;
            }
            self.at += 1;
        }
        Some(())
    }

    fn close(&mut self, open: Open) {
        self.at += 1;
        let end = self.marks.len() as u32;
        if let Some([begin, extent, ..]) = self.marks.get_mut(open.mark..) {
            begin.end = end;
            *extent = Mark {
                at: open.count,
                end: self.at as u32,
            };
        }
    }

    fn mark(&mut self, at: usize, end: usize) {
        // Both are less than 2^31.
        let (at, end) = (at as u32, end as u32);
        self.marks.push(Mark { at, end });
    }

    /// Scans the string that begins here.
    fn string(&mut self) -> Option<()> {
        let start = self.at;
        let mut at = start + 1;
        let mut escaped = 0;
        loop {
            at = special(self.text, at)?;
            match self.text.get(at)? {
                b'"' => break,
                b'\\' => {
                    escaped = ESCAPED as usize;
                    at += escape(self.text.get(at + 1..)?)?;
                }
                // Control characters are not allowed in a string.
                _ => return None,
            }
        }
        self.mark(start, at | escaped);
        self.at = at + 1;
        Some(())
    }

    /// Scans a number or a word.
    fn scalar(&mut self) -> Option<()> {
        let start = self.at;
        let rest = self.text.get(start..)?;
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | 0..=b' ');
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        let scalar = rest.get(..length)?;
        if !matches!(scalar, b"null" | b"true" | b"false") && !is_number(scalar) {
            return None;
        }
        self.at = start + length;
        self.mark(start, self.at);
        Some(())
    }

    /// The next byte that is not white space.
    fn next(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.get(self.at)?;
            if byte > b' ' {
                return Some(byte);
            }
            if !is_space(byte) {
                return None;
            }
            self.at += 1;
        }
    }

    fn rest_is_space(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.iter().copied().all(is_space)
    }
}

impl Open {
    fn end(&self) -> u8 {
        if self.is_map { b'}' } else { b']' }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// RFC 8259, section 6.
pub(super) fn is_number(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(unsigned);
    let has_zeros = whole > 1 && unsigned.starts_with(b"0");
    let mut rest = unsigned.get(whole..).unwrap_or_default();
    if whole == 0 || has_zeros {
        return false;
    }
    if let [b'.', fraction @ ..] = rest {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = fraction.get(length..).unwrap_or_default();
    }
    if let [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] = rest {
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

fn digits(text: &[u8]) -> usize {
    let other = text.iter().position(|byte| !byte.is_ascii_digit());
    other.unwrap_or(text.len())
}

/// The length of an escape with its backslash, which comes before `text`.
fn escape(text: &[u8]) -> Option<usize> {
    match text {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(2),
        [b'u', hex @ ..] => {
            let hex = hex.first_chunk::<4>()?;
            hex.iter().all(u8::is_ascii_hexdigit).then_some(6)
        }
        _ => None,
    }
}

/// The position of the first quote, backslash or control character, from `at` on. Checks eight bytes at a time.
fn special(text: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        // The lowest set high bit belongs to the first such byte. Higher ones may be wrong.
        let control = word.wrapping_sub(ONES * 0x20);
        let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
        let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
        let found = (control | quote | backslash) & !word & HIGHS;
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    let position = text.get(at..)?.iter().position(is_special)?;
    Some(at + position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn special_bytes_of_a_string_are_found_at_every_position(
            text in proptest::collection::vec(prop_oneof![
                20 => 0x20..=0xffu8, 1 => Just(b'"'), 1 => Just(b'\\'), 1 => 0..0x20u8, 1 => Just(0x7f), 1 => Just(b'#'),
            ], 0..40)
        ) {
            let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
            prop_assert_eq!(special(&text, 0), text.iter().position(is_special));
        }
    }
}
