//! All objects of a kind in protobuf, with the framing of a real API server.
//!
//! A list is an envelope (`k8s\0` and a `runtime.Unknown`) around its message; an event of a watch is its length in four
//! bytes and a bare `WatchEvent`, whose object has an envelope (apimachinery `runtime/serializer/codec_factory.go`: the
//! stream's serializer is the raw one).

use std::{ops::Range, sync::Arc};

use bytes::{BufMut, Bytes, BytesMut};

use super::{
    form::{EventContent, Form},
    stock::{DIGITS, is_changed},
    wire::{field, field_size, head, nested, number, read_varint},
};
use crate::generator::{FIRST_VERSION, Kind};

/// The first bytes of an envelope.
const MAGIC: &[u8] = b"k8s\0";

/// The last bytes of an envelope: no content encoding and no content type.
const END: &[u8] = &[0x1a, 0, 0x22, 0];

/// The objects of a kind, each as a list item: a tag, the length, the message.
#[derive(Clone)]
pub(super) struct Messages {
    kind: Kind,
    /// The envelope field that names the kind of each object.
    of_kind: Bytes,
    items: Bytes,
    /// The start of each item, and the end of the last.
    starts: Arc<[usize]>,
    /// The positions of the parts in each item.
    places: Arc<[Positions]>,
    version: u64,
}

/// The positions of the parts of an item.
#[derive(Clone, Copy)]
struct Positions {
    /// The start of the message in the item.
    message: u32,
    /// The start of the metadata, the first field of the message.
    metadata: u32,
    /// The end of the metadata in the message.
    rest: u32,
    /// The position in the message after the annotations, where another one can be inserted. Clients rely on fields in the
    /// order of their numbers, as Go writes them.
    annotations: u32,
    /// The digits of the resource version in the message.
    version: u32,
}

impl Messages {
    /// Reads a file that the peers' `dump` has written. The error says what is wrong with the file.
    pub(super) fn read(kind: Kind, count: usize, mut file: &[u8]) -> Result<Self, String> {
        let mut items = BytesMut::with_capacity(file.len() + count);
        let (mut starts, mut places) = (vec![0], Vec::with_capacity(count));
        while let Some((length, rest)) = file.split_first_chunk::<4>() {
            let number = places.len();
            let (message, rest) = rest
                .split_at_checked(u32::from_be_bytes(*length) as usize)
                .ok_or_else(|| format!("the file ends within object {number}"))?;
            file = rest;
            let begin = items.len();
            head(2, message.len(), &mut items);
            let place = Positions {
                message: (items.len() - begin) as u32,
                ..Positions::find(message, number as u64).ok_or_else(|| {
                    format!("object {number} has the resource version of another object")
                })?
            };
            places.push(place);
            items.put_slice(message);
            starts.push(items.len());
        }
        if places.len() != count || !file.is_empty() {
            return Err(format!(
                "the file has {} objects instead of {count}",
                places.len()
            ));
        }
        Ok(Self {
            kind,
            of_kind: of_kind(kind.api_version(), kind.name()),
            items: items.freeze(),
            starts: starts.into(),
            places: places.into(),
            version: FIRST_VERSION + count as u64,
        })
    }

    /// Returns the objects after a relist, with the same changes as the JSON stock.
    pub(super) fn changed(&self, percent: u64) -> Self {
        let mut items = BytesMut::from(&self.items[..]);
        let mut version = self.version;
        for (number, place) in self.places.iter().enumerate() {
            if is_changed(number, self.len(), percent) {
                version += 1;
                let place = self.starts[number] + (place.message + place.version) as usize;
                items[place..place + DIGITS].copy_from_slice(version.to_string().as_bytes());
            }
        }
        Self {
            items: items.freeze(),
            version: version + 1,
            ..self.clone()
        }
    }

    fn message(&self, number: usize) -> &[u8] {
        let begin = self.starts[number] + self.places[number].message as usize;
        &self.items[begin..self.starts[number + 1]]
    }

    fn event(&self, what: &str, message: &[&[u8]], buffer: &mut BytesMut) {
        event(what, &self.of_kind, message, buffer);
    }
}

impl Positions {
    fn find(message: &[u8], number: u64) -> Option<Self> {
        let (length, digits) = message.strip_prefix(&[1 << 3 | 2]).and_then(read_varint)?;
        let begin = 1 + digits;
        let metadata = message.get(begin..begin + length)?;
        // Include the field's number and length: the same digits may also occur in another field.
        let version = format!("2\u{8}{}", FIRST_VERSION + number);
        let place = metadata
            .windows(version.len())
            .position(|bytes| bytes == version.as_bytes())?;
        Some(Self {
            message: 0,
            metadata: begin as u32,
            rest: (begin + length) as u32,
            annotations: (begin + end_of_annotations(metadata)?) as u32,
            version: (begin + place + version.len() - DIGITS) as u32,
        })
    }
}

/// The number of the field of metadata with an annotation.
const ANNOTATIONS: usize = 12;

/// Returns the position in metadata of the first field after the annotations.
fn end_of_annotations(metadata: &[u8]) -> Option<usize> {
    let mut place = 0;
    while place < metadata.len() {
        let (tag, digits) = read_varint(&metadata[place..])?;
        if tag >> 3 > ANNOTATIONS {
            break;
        }
        let (value, more) = read_varint(&metadata[place + digits..])?;
        place += digits + more;
        // Metadata has only numbers, and fields with a length.
        if tag & 7 == 2 {
            place += value;
        }
    }
    Some(place)
}

impl Form for Messages {
    fn len(&self) -> usize {
        self.places.len()
    }

    fn list(&self, page: Range<usize>, continues: Option<(usize, usize)>) -> [Bytes; 3] {
        let items = self
            .items
            .slice(self.starts[page.start]..self.starts[page.end]);
        let (api_version, name) = (self.kind.api_version(), self.kind.name());
        let begin = list_head(api_version, name, self.version, continues, items.len());
        [begin, items, Bytes::from_static(END)]
    }

    fn added(&self, number: usize, buffer: &mut BytesMut) {
        self.event("ADDED", &[self.message(number)], buffer);
    }

    fn write_event(&self, content: EventContent, buffer: &mut BytesMut) {
        let (number, event) = (content.object, content.event);
        let (message, place) = (self.message(number), self.places[number]);
        let mut from_end = message.len() - place.version as usize;
        if let Some(stamp) = content.stamp {
            let mut annotation = BytesMut::new();
            nested(ANNOTATIONS as u32, &mut annotation, |entry| {
                field(1, b"bench/stamp", entry);
                field(2, stamp.to_string().as_bytes(), entry);
            });
            // The resource version comes before the annotations.
            let (before, after) = message.split_at(place.annotations as usize);
            let mut begin = BytesMut::new();
            let metadata = (place.rest - place.metadata) as usize;
            head(1, metadata + annotation.len(), &mut begin);
            let before = &before[place.metadata as usize..];
            self.event(content.what, &[&begin, before, &annotation, after], buffer);
            from_end += annotation.len();
        } else {
            self.event(content.what, &[message], buffer);
        }
        let place = buffer.len() - END.len() - from_end;
        let version = (self.version + 1 + event).to_string();
        buffer[place..place + DIGITS].copy_from_slice(version.as_bytes());
    }

    fn end_of_list(&self, buffer: &mut BytesMut) {
        bookmark(
            self.kind.api_version(),
            self.kind.name(),
            self.version,
            buffer,
        );
    }

    fn expired(&self, buffer: &mut BytesMut) {
        let mut status = BytesMut::new();
        field(1, b"", &mut status);
        field(2, b"Failure", &mut status);
        let message = b"The resourceVersion for the provided watch is too old.";
        field(3, message, &mut status);
        field(4, b"Expired", &mut status);
        number(6, 410, &mut status);
        event_of("ERROR", "v1", "Status", &status, buffer);
    }
}

/// Returns a list up to its items, which take this many bytes.
fn list_head(
    api_version: &str,
    kind: &str,
    version: u64,
    continues: Option<(usize, usize)>,
    items: usize,
) -> Bytes {
    let mut metadata = BytesMut::new();
    nested(1, &mut metadata, |inner| {
        field(1, b"", inner);
        field(2, version.to_string().as_bytes(), inner);
        let token = continues.map_or_else(String::new, |(next, _)| next.to_string());
        field(3, token.as_bytes(), inner);
        if let Some((_, rest)) = continues {
            number(4, rest as u64, inner);
        }
    });
    let mut begin = BytesMut::new();
    begin.put_slice(MAGIC);
    begin.put_slice(&of_kind(api_version, &format!("{kind}List")));
    head(2, metadata.len() + items, &mut begin);
    begin.put_slice(&metadata);
    begin.freeze()
}

/// Returns a complete list with one page.
pub(super) fn whole_list(
    api_version: &str,
    kind: &str,
    version: u64,
    messages: impl Iterator<Item = BytesMut>,
) -> Bytes {
    let mut items = BytesMut::new();
    messages.for_each(|message| field(2, &message, &mut items));
    let begin = list_head(api_version, kind, version, None, items.len());
    [&begin[..], &items, END].concat().into()
}

/// Appends the bookmark that ends the initial objects.
pub(super) fn bookmark(api_version: &str, kind: &str, version: u64, buffer: &mut BytesMut) {
    let mut object = BytesMut::new();
    nested(1, &mut object, |metadata| {
        field(6, version.to_string().as_bytes(), metadata);
        nested(12, metadata, |annotation| {
            field(1, b"k8s.io/initial-events-end", annotation);
            field(2, b"true", annotation);
        });
    });
    event_of("BOOKMARK", api_version, kind, &object, buffer);
}

/// Appends an event with an object of a kind.
pub(super) fn event_of(
    what: &str,
    api_version: &str,
    kind: &str,
    message: &[u8],
    buffer: &mut BytesMut,
) {
    event(what, &of_kind(api_version, kind), &[message], buffer);
}

/// Appends an event with an object whose message is in parts.
fn event(what: &str, of_kind: &[u8], message: &[&[u8]], buffer: &mut BytesMut) {
    let length = message.iter().map(|part| part.len()).sum();
    let unknown = MAGIC.len() + of_kind.len() + field_size(length) + END.len();
    let extension = field_size(unknown);
    buffer.put_u32((field_size(what.len()) + field_size(extension)) as u32);
    field(1, what.as_bytes(), buffer);
    head(2, extension, buffer);
    head(1, unknown, buffer);
    envelope(of_kind, length, message, buffer);
}

fn envelope(of_kind: &[u8], length: usize, message: &[&[u8]], buffer: &mut BytesMut) {
    buffer.put_slice(MAGIC);
    buffer.put_slice(of_kind);
    head(2, length, buffer);
    for part in message {
        buffer.put_slice(part);
    }
    buffer.put_slice(END);
}

/// Returns an answer with a single object.
pub(super) fn alone(api_version: &str, kind: &str, message: &[u8]) -> Bytes {
    let mut buffer = BytesMut::with_capacity(message.len() + 64);
    envelope(
        &of_kind(api_version, kind),
        message.len(),
        &[message],
        &mut buffer,
    );
    buffer.freeze()
}

/// Returns the part of an envelope that names the kind of its content.
fn of_kind(api_version: &str, kind: &str) -> Bytes {
    let mut buffer = BytesMut::new();
    nested(1, &mut buffer, |inner| {
        field(1, api_version.as_bytes(), inner);
        field(2, kind.as_bytes(), inner);
    });
    buffer.freeze()
}
