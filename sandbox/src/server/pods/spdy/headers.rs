use std::io;

use flate2::{Decompress, FlushDecompress};

use super::dictionary::dictionary;
use super::frame::invalid;

/// The most bytes of the headers of a stream.
const LONGEST: usize = 16 * 1024;

/// The names and values of a stream's headers.
pub(super) type Headers = Vec<(String, String)>;

/// Reads the headers of the streams of one peer, which are one compressed stream.
pub(super) struct HeaderReader {
    inflate: Decompress,
    begun: bool,
}

impl HeaderReader {
    pub(super) fn new() -> Self {
        Self {
            inflate: Decompress::new(false),
            begun: false,
        }
    }

    /// # Errors
    /// `InvalidData` if they are not compressed as in SPDY/3, or too long.
    pub(super) fn read(&mut self, mut block: &[u8]) -> io::Result<Headers> {
        if !self.begun {
            block = self.begin(block)?;
            self.begun = true;
        }
        let text = self.inflate(block, LONGEST)?;
        parse(&text).ok_or_else(|| invalid("the headers of a stream are cut off"))
    }

    /// Reads the beginning of the compressed stream, which says whether the dictionary is used. Returns the rest.
    fn begin<'a>(&mut self, block: &'a [u8]) -> io::Result<&'a [u8]> {
        const DEFLATE: u8 = 8;
        const DICTIONARY: u8 = 0x20;
        let [method, flags, rest @ ..] = block else {
            return Err(invalid("the headers of a stream are cut off"));
        };
        if method & 0x0f != DEFLATE {
            return Err(invalid("the headers of a stream are not compressed"));
        }
        if flags & DICTIONARY == 0 {
            return Ok(rest);
        }
        let dictionary = dictionary();
        // A block that is not compressed brings the dictionary to where later blocks refer to.
        self.inflate(&stored(&dictionary), dictionary.len())?;
        // The checksum of the dictionary: there is only this one.
        rest.get(4..)
            .ok_or_else(|| invalid("the headers of a stream are cut off"))
    }

    fn inflate(&mut self, block: &[u8], longest: usize) -> io::Result<Vec<u8>> {
        // One more byte than allowed shows that there are more.
        let mut text = vec![0; longest + 1];
        let (begun, made) = (self.inflate.total_in(), self.inflate.total_out());
        loop {
            let count =
                |total: u64, before: u64| usize::try_from(total - before).unwrap_or(usize::MAX);
            let read = count(self.inflate.total_in(), begun);
            let written = count(self.inflate.total_out(), made);
            if written > longest {
                return Err(invalid("the headers of a stream are too long"));
            }
            let from = block.get(read..).unwrap_or_default();
            if from.is_empty() {
                text.truncate(written);
                return Ok(text);
            }
            let to = text.get_mut(written..).unwrap_or_default();
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let done = self.inflate.decompress(from, to, FlushDecompress::Sync);
            done.map_err(|_| invalid("the headers of a stream are not compressed as in SPDY/3"))?;
            if (self.inflate.total_in(), self.inflate.total_out()) == (before_in, before_out) {
                return Err(invalid(
                    "the compressed headers end before the connection does",
                ));
            }
        }
    }
}

/// A block of a compressed stream that is not compressed, and not the last one.
fn stored(bytes: &[u8]) -> Vec<u8> {
    // Callers write less than 64 KiB.
    let length = u16::try_from(bytes.len()).unwrap_or_default();
    let mut block = vec![0];
    block.extend(length.to_le_bytes());
    block.extend((!length).to_le_bytes());
    block.extend(bytes);
    block
}

/// Writes the headers of a stream. `first` says whether the compressed stream begins with them.
pub(super) fn write(first: bool, headers: &[(&str, &str)]) -> Vec<u8> {
    let length = |text: &str| u32::try_from(text.len()).unwrap_or_default().to_be_bytes();
    let count = u32::try_from(headers.len()).unwrap_or_default();
    let mut text = count.to_be_bytes().to_vec();
    for part in headers.iter().flat_map(|(name, value)| [name, value]) {
        text.extend(length(part));
        text.extend(part.as_bytes());
    }
    let mut block = if first { vec![0x78, 0x01] } else { Vec::new() };
    block.extend(stored(&text));
    // An empty block makes the reader take what was before it.
    block.extend(stored(&[]));
    block
}

fn parse(mut text: &[u8]) -> Option<Headers> {
    let mut headers = Headers::new();
    let count = number(&mut text)?;
    for _ in 0..count {
        headers.push((string(&mut text)?, string(&mut text)?));
    }
    Some(headers)
}

fn number(text: &mut &[u8]) -> Option<u32> {
    let (number, rest) = text.split_first_chunk::<4>()?;
    *text = rest;
    Some(u32::from_be_bytes(*number))
}

fn string(text: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(number(text)?).ok()?;
    let (string, rest) = text.split_at_checked(length)?;
    *text = rest;
    Some(String::from_utf8_lossy(string).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_of_the_server_can_be_read_one_after_the_other() {
        let mut reader = HeaderReader::new();
        assert_eq!(reader.read(&write(true, &[])).unwrap(), []);
        let read = reader.read(&write(false, &[("a", "b")])).unwrap();
        assert_eq!(read, [("a".to_owned(), "b".to_owned())]);
    }

    /// The first two streams of kubectl: they refer to the dictionary and to each other.
    #[test]
    fn headers_that_were_compressed_with_the_dictionary_are_read() {
        // From zlib, with its best compression.
        let blocks: [&[u8]; 2] = [
            &[
                120, 249, 227, 198, 167, 194, 2, 37, 58, 112, 58, 43, 41, 74, 77, 204, 133, 22, 37,
                172, 169, 160, 128, 134, 20, 203, 69, 160, 36, 204, 100, 97, 128, 181, 220, 98, 52,
                0, 0, 0, 0, 255, 255,
            ],
            &[
                2, 73, 98, 232, 7, 21, 69, 137, 168, 218, 1, 0, 0, 0, 255, 255,
            ],
        ];
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let (error, data) = (header("streamtype", "error"), header("streamtype", "data"));
        let port = header("port", "80");
        let mut reader = HeaderReader::new();
        let [first, second] = blocks.map(|block| reader.read(block).unwrap());
        assert_eq!(first, [error, port.clone(), header("content-length", "0")]);
        assert_eq!(second, [data, port]);
    }

    #[test]
    fn wrong_headers_are_refused() {
        let mut long = vec![0x78, 0x01];
        for _ in 0..5 {
            long.extend(stored(&[0; 4096]));
        }
        let mut cut = vec![0x78, 0x01];
        cut.extend(stored(&[0, 0, 0, 9]));
        for (block, why) in [
            (&[][..], "cut off"),
            (&[0x77, 0x01, 0], "not compressed"),
            (&[0x78, 0x01, 0xff, 0xff], "as in SPDY/3"),
            (&long, "too long"),
            (&cut, "cut off"),
        ] {
            let error = HeaderReader::new().read(block).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}
