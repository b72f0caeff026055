//! All objects of a kind, written.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::form::Form;
use crate::generator::{FIRST_VERSION, Generator, Kind};

/// Larger than any number of objects that is not a multiple of it, and prime: `stride * event % count` comes to each
/// object once before it comes to one again.
const STRIDE: u64 = 1_000_003;

/// The objects of a kind, as JSON, one after the other with a comma after each.
pub struct Stock {
    kind: Kind,
    items: Bytes,
    /// Where each begins, and where the last ends.
    starts: Vec<usize>,
    /// Where in each its resource version is.
    versions: Vec<u32>,
}

impl Stock {
    /// The first `count` objects of a generator.
    pub fn new(generator: &Generator, kind: Kind, count: u64) -> Self {
        let (mut items, mut starts, mut versions) = (Vec::new(), vec![0], Vec::new());
        for number in 0..count {
            let object = generator.object(kind, number).to_string();
            let version = format!("\"resourceVersion\":\"{}\"", FIRST_VERSION + number);
            let place = object
                .find(&version)
                .map_or(0, |place| place + version.len() - 1 - DIGITS);
            versions.push(place as u32);
            items.extend_from_slice(object.as_bytes());
            items.push(b',');
            starts.push(items.len());
        }
        Self {
            kind,
            items: items.into(),
            starts,
            versions,
        }
    }

    /// The resource version of the collection as long as nothing was modified.
    pub fn version(&self) -> u64 {
        FIRST_VERSION + self.len() as u64
    }

    /// Of which kind they are.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// The items of a page, with commas between them; the range is one of those that exist.
    fn page(&self, range: Range<usize>) -> Bytes {
        if range.is_empty() {
            return Bytes::new();
        }
        self.items
            .slice(self.starts[range.start]..self.starts[range.end] - 1)
    }

    /// What is before the items of a list: all of it but the `{` of an item.
    fn head(&self, continues: Option<(usize, usize)>) -> String {
        let more = continues.map_or_else(String::new, |(next, rest)| {
            format!(",\"continue\":\"{next}\",\"remainingItemCount\":{rest}")
        });
        format!(
            "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{{\"resourceVersion\":\"{}\"{more}}},\"items\":[",
            self.kind.name(),
            self.kind.api_version(),
            self.version()
        )
    }

    fn begin(&self, what: &str, buffer: &mut BytesMut) {
        let (kind, version) = (self.kind.name(), self.kind.api_version());
        let parts = [
            "{\"type\":\"",
            what,
            "\",\"object\":{\"kind\":\"",
            kind,
            "\",\"apiVersion\":\"",
            version,
            "\",",
        ];
        for part in parts {
            buffer.extend_from_slice(part.as_bytes());
        }
    }

    fn object(&self, number: usize) -> &[u8] {
        &self.items[self.starts[number]..self.starts[number + 1] - 1]
    }
}

impl Form for Stock {
    fn len(&self) -> usize {
        self.versions.len()
    }

    fn list(&self, page: Range<usize>, continues: Option<(usize, usize)>) -> [Bytes; 3] {
        [
            self.head(continues).into(),
            self.page(page),
            Bytes::from_static(b"]}\n"),
        ]
    }

    fn added(&self, number: usize, buffer: &mut BytesMut) {
        self.begin("ADDED", buffer);
        buffer.extend_from_slice(&self.object(number)[1..]);
        buffer.extend_from_slice(b"}\n");
    }

    fn modified(&self, event: u64, buffer: &mut BytesMut) {
        let number = number_of(event, self.len());
        self.begin("MODIFIED", buffer);
        let begin = buffer.len();
        buffer.extend_from_slice(&self.object(number)[1..]);
        let place = begin + self.versions[number] as usize - 1;
        let version = (self.version() + 1 + event).to_string();
        buffer[place..place + DIGITS].copy_from_slice(version.as_bytes());
        buffer.extend_from_slice(b"}\n");
    }

    fn end_of_list(&self, buffer: &mut BytesMut) {
        self.begin("BOOKMARK", buffer);
        let metadata = format!(
            "\"metadata\":{{\"resourceVersion\":\"{}\",\"creationTimestamp\":null,\"annotations\":{{\"k8s.io/initial-events-end\":\"true\"}}}}",
            self.version()
        );
        buffer.extend_from_slice(metadata.as_bytes());
        if self.kind == Kind::Pod {
            buffer.extend_from_slice(b",\"spec\":{\"containers\":null},\"status\":{}");
        }
        buffer.extend_from_slice(b"}}\n");
    }
}

/// How many digits a resource version has.
pub(super) const DIGITS: usize = 8;

/// Which object the event of this number after the start is of.
pub(super) fn number_of(event: u64, count: usize) -> usize {
    (event * STRIDE % count as u64) as usize
}
