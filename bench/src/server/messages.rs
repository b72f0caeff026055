//! All objects of a kind in protobuf, as the real API server frames them.
//!
//! A list is an envelope (`k8s\0` and a `runtime.Unknown`) around its message; an event of a watch is its length in four
//! bytes and a bare `WatchEvent`, whose object has an envelope (apimachinery `runtime/serializer/codec_factory.go`: the
//! stream's serializer is the raw one).

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};

use super::{
    form::Form,
    stock::{DIGITS, number_of},
};
use crate::generator::{FIRST_VERSION, Kind};

/// What an envelope begins with.
const MAGIC: &[u8] = b"k8s\0";

/// What an envelope ends with: no encoding and no type of the content.
const END: &[u8] = &[0x1a, 0, 0x22, 0];

/// The objects of a kind, each as an item of a list: a tag, its length, its message.
pub(super) struct Messages {
    kind: Kind,
    /// What an envelope says of each.
    of_kind: Bytes,
    items: Bytes,
    /// Where each begins, and where the last ends.
    starts: Vec<usize>,
    /// Where in each message its resource version is.
    versions: Vec<u32>,
}

impl Messages {
    /// Those of a file that the peers' `dump` has written, or what is wrong with it.
    pub(super) fn read(kind: Kind, count: usize, mut file: &[u8]) -> Result<Self, String> {
        let mut items = BytesMut::with_capacity(file.len());
        let (mut starts, mut versions) = (vec![0], Vec::with_capacity(count));
        while let Some((length, rest)) = file.split_first_chunk::<4>() {
            let number = versions.len();
            let length = u32::from_be_bytes(*length) as usize;
            let (message, rest) = rest
                .split_at_checked(length)
                .ok_or_else(|| format!("object {number} is cut off"))?;
            file = rest;
            // The field's number and length stand before it: another text of the same digits is another field.
            let version = format!("2\u{8}{}", FIRST_VERSION + number as u64);
            let place = message
                .windows(version.len())
                .position(|bytes| bytes == version.as_bytes())
                .ok_or_else(|| {
                    format!("object {number} has not the resource version of that number")
                })?;
            versions.push((place + version.len() - DIGITS) as u32);
            items.put_u8(0x12);
            varint(length, &mut items);
            items.put_slice(message);
            starts.push(items.len());
        }
        if versions.len() != count || !file.is_empty() {
            return Err(format!("{} objects instead of {count}", versions.len()));
        }
        Ok(Self {
            kind,
            of_kind: of_kind(kind, ""),
            items: items.freeze(),
            starts,
            versions,
        })
    }

    /// Of which kind they are.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    fn message(&self, number: usize) -> &[u8] {
        let item = &self.items[self.starts[number]..self.starts[number + 1]];
        let length = 1 + item[1..].iter().take_while(|byte| **byte >= 0x80).count() + 1;
        &item[length..]
    }

    /// The resource version of the collection as long as nothing was modified.
    fn version(&self) -> u64 {
        FIRST_VERSION + self.len() as u64
    }

    /// Appends an event; says where its object's message begins.
    fn event(&self, what: &str, message: &[u8], buffer: &mut BytesMut) -> usize {
        let unknown = MAGIC.len() + self.of_kind.len() + field_size(message.len()) + END.len();
        let extension = field_size(unknown);
        let whole = field_size(what.len()) + field_size(extension);
        buffer.put_u32(whole as u32);
        field(1, what.as_bytes(), buffer);
        head(2, extension, buffer);
        head(1, unknown, buffer);
        buffer.put_slice(MAGIC);
        buffer.put_slice(&self.of_kind);
        head(2, message.len(), buffer);
        let begin = buffer.len();
        buffer.put_slice(message);
        buffer.put_slice(END);
        begin
    }
}

impl Form for Messages {
    fn len(&self) -> usize {
        self.versions.len()
    }

    fn list(&self, page: Range<usize>, continues: Option<(usize, usize)>) -> [Bytes; 3] {
        let mut inner = BytesMut::new();
        field(1, b"", &mut inner);
        field(2, self.version().to_string().as_bytes(), &mut inner);
        let token = continues.map_or_else(String::new, |(next, _)| next.to_string());
        field(3, token.as_bytes(), &mut inner);
        if let Some((_, rest)) = continues {
            inner.put_u8(4 << 3);
            varint(rest, &mut inner);
        }
        let mut metadata = BytesMut::new();
        field(1, &inner, &mut metadata);
        let items = self
            .items
            .slice(self.starts[page.start]..self.starts[page.end]);
        let mut begin = BytesMut::new();
        begin.put_slice(MAGIC);
        begin.put_slice(&of_kind(self.kind, "List"));
        head(2, metadata.len() + items.len(), &mut begin);
        begin.put_slice(&metadata);
        [begin.freeze(), items, Bytes::from_static(END)]
    }

    fn added(&self, number: usize, buffer: &mut BytesMut) {
        self.event("ADDED", self.message(number), buffer);
    }

    fn modified(&self, event: u64, buffer: &mut BytesMut) {
        let number = number_of(event, self.len());
        let begin = self.event("MODIFIED", self.message(number), buffer);
        let place = begin + self.versions[number] as usize;
        let version = (self.version() + 1 + event).to_string();
        buffer[place..place + DIGITS].copy_from_slice(version.as_bytes());
    }

    fn end_of_list(&self, buffer: &mut BytesMut) {
        let mut annotation = BytesMut::new();
        field(1, b"k8s.io/initial-events-end", &mut annotation);
        field(2, b"true", &mut annotation);
        let mut metadata = BytesMut::new();
        field(6, self.version().to_string().as_bytes(), &mut metadata);
        field(12, &annotation, &mut metadata);
        let mut object = BytesMut::new();
        field(1, &metadata, &mut object);
        self.event("BOOKMARK", &object, buffer);
    }
}

fn field(number: u8, bytes: &[u8], buffer: &mut BytesMut) {
    head(number, bytes.len(), buffer);
    buffer.put_slice(bytes);
}

/// What stands before a field with a length.
fn head(number: u8, length: usize, buffer: &mut BytesMut) {
    buffer.put_u8(number << 3 | 2);
    varint(length, buffer);
}

/// How much a field takes whose number is below 16.
fn field_size(length: usize) -> usize {
    let groups = (usize::BITS - (length | 1).leading_zeros()).div_ceil(7);
    1 + groups as usize + length
}

fn varint(mut value: usize, buffer: &mut BytesMut) {
    while value >= 0x80 {
        buffer.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    buffer.put_u8(value as u8);
}

/// The part of an envelope that says what is in it.
fn of_kind(kind: Kind, suffix: &str) -> Bytes {
    let mut inner = BytesMut::new();
    field(1, kind.api_version().as_bytes(), &mut inner);
    let name = format!("{}{suffix}", kind.name());
    field(2, name.as_bytes(), &mut inner);
    let mut outer = BytesMut::new();
    field(1, &inner, &mut outer);
    outer.freeze()
}
