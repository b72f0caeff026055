//! All objects of a kind as bytes.

use std::{ops::Range, sync::Arc};

use bytes::{Bytes, BytesMut};

use super::{
    form::{EventContent, Form, Format},
    messages::Messages,
};
use crate::generator::{FIRST_VERSION, Generator, Kind};

/// A prime that does not divide the object count, so that `stride * event % count` visits each object once before it
/// visits one again.
const STRIDE: u64 = 1_000_003;

/// The objects of a kind as JSON, one after the other with a comma after each, and also in protobuf if a file was given.
#[derive(Clone)]
pub struct Stock {
    kind: Kind,
    items: Bytes,
    /// The start of each object, and the end of the last.
    starts: Arc<[usize]>,
    /// The position of the resource version in each object.
    versions: Arc<[u32]>,
    /// The position in each object where a first annotation can be inserted, or annotations if there are none.
    annotations: Arc<[u32]>,
    version: u64,
    epoch: u64,
    messages: Option<Messages>,
}

impl Stock {
    /// Writes the first `count` objects of a generator.
    pub fn new(generator: &Generator, kind: Kind, count: u64) -> Self {
        let (mut items, mut starts, mut versions) = (Vec::new(), vec![0], Vec::new());
        let mut annotations = Vec::new();
        for number in 0..count {
            let object = generator.object(kind, number);
            let opening = match object["metadata"]["annotations"].is_object() {
                true => ANNOTATIONS,
                false => "\"metadata\":{",
            };
            let object = object.to_string();
            let place = object
                .find(opening)
                .map_or(0, |place| place + opening.len());
            annotations.push(place as u32);
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
            starts: starts.into(),
            versions: versions.into(),
            annotations: annotations.into(),
            version: FIRST_VERSION + count,
            epoch: 0,
            messages: None,
        }
    }

    /// Adds the same objects in protobuf from a file that the peers' `dump` has written.
    pub(super) fn with_protobuf(&self, file: &[u8]) -> Result<Self, String> {
        let messages = Messages::read(self.kind, self.len(), file)?;
        Ok(Self {
            messages: Some(messages),
            ..self.clone()
        })
    }

    /// Returns the format of an answer. JSON is always available.
    pub(super) fn format(&self, accept: &str) -> Format {
        match Format::accepted(accept) {
            Format::Protobuf if self.messages.is_some() => Format::Protobuf,
            _ => Format::Json,
        }
    }

    /// Returns the objects in this format.
    pub(super) fn form(&self, format: Format) -> &dyn Form {
        match (format, &self.messages) {
            (Format::Protobuf, Some(messages)) => messages,
            _ => self,
        }
    }

    /// Returns the kind of the objects.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the stock after a relist: this percentage of the objects has new resource versions, and the history
    /// before is gone.
    pub(super) fn changed(&self, percent: u64) -> Self {
        let mut items = BytesMut::from(&self.items[..]);
        let mut version = self.version;
        for number in 0..self.len() {
            if is_changed(number, self.len(), percent) {
                version += 1;
                let place = self.starts[number] + self.versions[number] as usize;
                items[place..place + DIGITS].copy_from_slice(version.to_string().as_bytes());
            }
        }
        Self {
            items: items.freeze(),
            messages: self
                .messages
                .as_ref()
                .map(|messages| messages.changed(percent)),
            // The version grows even if nothing changed, as if an object outside the list had changed.
            version: version + 1,
            epoch: self.epoch + 1,
            ..self.clone()
        }
    }

    /// Returns the number of relists.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the oldest resource version at which a watch can start.
    pub(super) fn oldest(&self) -> u64 {
        if self.epoch == 0 { 0 } else { self.version }
    }

    /// Returns the resource version of the collection before modifications.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the items of a page with commas between them. The range must exist.
    fn page(&self, range: Range<usize>) -> Bytes {
        if range.is_empty() {
            return Bytes::new();
        }
        self.items
            .slice(self.starts[range.start]..self.starts[range.end] - 1)
    }

    /// Returns the text before the items of a list, without the `{` of the first item.
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
        begin(what, self.kind.name(), self.kind.api_version(), buffer);
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

    fn write_event(&self, content: EventContent, buffer: &mut BytesMut) {
        let (number, event) = (content.object, content.event);
        self.begin(content.what, buffer);
        let object = self.object(number);
        let mut place = buffer.len() - 1 + self.versions[number] as usize;
        if let Some(stamp) = content.stamp {
            let middle = self.annotations[number] as usize;
            let (before, after) = object.split_at(middle);
            let text = if before.ends_with(ANNOTATIONS.as_bytes()) {
                format!("\"bench/stamp\":\"{stamp}\",")
            } else {
                format!("{ANNOTATIONS}\"bench/stamp\":\"{stamp}\"}},")
            };
            buffer.extend_from_slice(&before[1..]);
            buffer.extend_from_slice(text.as_bytes());
            buffer.extend_from_slice(after);
            if self.versions[number] as usize >= middle {
                place += text.len();
            }
        } else {
            buffer.extend_from_slice(&object[1..]);
        }
        let version = (self.version() + 1 + event).to_string();
        buffer[place..place + DIGITS].copy_from_slice(version.as_bytes());
        buffer.extend_from_slice(b"}\n");
    }

    fn end_of_list(&self, buffer: &mut BytesMut) {
        let rest = match self.kind {
            Kind::Pod => ",\"spec\":{\"containers\":null},\"status\":{}",
            Kind::Node => ",\"spec\":{},\"status\":{}",
            _ => "",
        };
        bookmark(
            self.kind.name(),
            self.kind.api_version(),
            self.version(),
            rest,
            buffer,
        );
    }

    fn expired(&self, buffer: &mut BytesMut) {
        buffer.extend_from_slice(
            b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\
            \"status\":\"Failure\",\"message\":\"The resourceVersion for the provided watch is too old.\",\
            \"reason\":\"Expired\",\"code\":410}}\n",
        );
    }
}

/// Appends an event up to the kind of its object.
fn begin(what: &str, kind: &str, api_version: &str, buffer: &mut BytesMut) {
    let parts = [
        "{\"type\":\"",
        what,
        "\",\"object\":{\"kind\":\"",
        kind,
        "\",\"apiVersion\":\"",
        api_version,
        "\",",
    ];
    for part in parts {
        buffer.extend_from_slice(part.as_bytes());
    }
}

/// Appends the bookmark that ends the initial objects; `rest` holds the fields that such an object has besides metadata.
pub(super) fn bookmark(
    kind: &str,
    api_version: &str,
    version: u64,
    rest: &str,
    buffer: &mut BytesMut,
) {
    begin("BOOKMARK", kind, api_version, buffer);
    let metadata = format!(
        "\"metadata\":{{\"resourceVersion\":\"{version}\",\"creationTimestamp\":null,\"annotations\":{{\"k8s.io/initial-events-end\":\"true\"}}}}{rest}}}}}\n"
    );
    buffer.extend_from_slice(metadata.as_bytes());
}

/// The start of an object's annotations.
const ANNOTATIONS: &str = "\"annotations\":{";

/// The number of digits of a resource version.
pub(super) const DIGITS: usize = 8;

/// Returns the number of the object of this event after the start.
pub(super) fn number_of(event: u64, count: usize) -> usize {
    (event * STRIDE % count as u64) as usize
}

/// Whether an object belongs to this percentage of all objects.
pub(super) fn is_changed(number: usize, count: usize, percent: u64) -> bool {
    let count = count as u64;
    number as u64 * STRIDE % count < count * percent / 100
}
