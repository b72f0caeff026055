//! The outline of a JSON text: where each value begins and ends, found in one pass.
//!
//! Values may be nested to any depth: the end of each is found without recursion. Marks are made for the outermost
//! [`DEEPEST`] levels only, so that a reader along them needs a bounded stack.

use crate::resource::DEEPEST;

/// A value, or the key of an entry. A list or a map has two: the second tells its extent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// Where it begins in the text; of a string that is its quote. Of an extent: how many items or entries there are,
    /// or [`TOO_DEEP`].
    pub(super) at: u32,
    /// Of a string, the place of its closing quote, with [`ESCAPED`] if there is a backslash in it. Of a list or a map,
    /// the first mark behind it. Of anything else, and of an extent, where the text of it ends.
    pub(super) end: u32,
}

/// The string has to be unescaped.
pub(super) const ESCAPED: u32 = 1 << 31;

/// The list or map lies deeper than [`DEEPEST`]. Nothing in it has a mark.
pub(super) const TOO_DEEP: u32 = u32::MAX;

/// The marks of one text after the other, in the same memory.
#[derive(Default)]
pub(crate) struct Outline {
    marks: Vec<Mark>,
    /// The lists and maps that have begun and not ended.
    open: Vec<Open>,
    is_whole: bool,
}

impl Outline {
    /// The bytes of the largest text.
    pub(super) const LARGEST: usize = ESCAPED as usize - 1;

    /// Memory for so many marks is kept for the next text.
    const KEPT: usize = 1 << 14;

    /// Makes the marks of `text`, in its order.
    ///
    /// There are none if `text` is not one JSON value, but for halves of surrogate pairs, which only who reads the string
    /// notices, and for what is not UTF-8; or if it is larger than this reader takes.
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

    /// Gives back memory that an unusually large text took.
    pub(crate) fn shrink(&mut self) {
        if self.marks.capacity() > Self::KEPT {
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
        // What the present value is in; at first nothing.
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

    /// The rest of a list or map whose content nobody can read. The content may be nested to any depth, and takes one
    /// byte of memory for each level.
    #[cold]
    fn step_over(&mut self, mut outermost: Open) -> Option<()> {
        let marks = self.marks.len();
        // The brackets that are missing.
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

    /// The beginning of a list or map.
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

    /// An item or an entry, up to its value.
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

    /// The string that begins here.
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
                // Control characters do not stand in a string.
                _ => return None,
            }
        }
        self.mark(start, at | escaped);
        self.at = at + 1;
        Some(())
    }

    /// A number or a word.
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

    /// The next byte that is not space.
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

/// How long an escape is with its backslash, which comes before `text`.
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

/// Where the first quote, backslash or control character is, from `at` on; looks at eight bytes at a time.
fn special(text: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        // The lowest high bit that is set is that of the first such byte; those above it may err.
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
        fn what_is_special_in_a_string_is_found_wherever_it_is(
            text in proptest::collection::vec(prop_oneof![
                20 => 0x20..=0xffu8, 1 => Just(b'"'), 1 => Just(b'\\'), 1 => 0..0x20u8, 1 => Just(0x7f), 1 => Just(b'#'),
            ], 0..40)
        ) {
            let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
            prop_assert_eq!(special(&text, 0), text.iter().position(is_special));
        }
    }
}
