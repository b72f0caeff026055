//! All objects of a kind, written.

use std::{ops::Range, sync::Arc};

use bytes::{Bytes, BytesMut};

use super::{
    form::{Form, Format, Told},
    messages::Messages,
};
use crate::generator::{FIRST_VERSION, Generator, Kind};

/// Larger than any number of objects that is not a multiple of it, and prime: `stride * event % count` comes to each
/// object once before it comes to one again.
const STRIDE: u64 = 1_000_003;

/// The objects of a kind, as JSON, one after the other with a comma after each; also in protobuf, if they were given.
#[derive(Clone)]
pub struct Stock {
    kind: Kind,
    items: Bytes,
    /// Where each begins, and where the last ends.
    starts: Arc<[usize]>,
    /// Where in each its resource version is.
    versions: Arc<[u32]>,
    /// Where in each another annotation can be put, first of all, or annotations if there are none.
    annotations: Arc<[u32]>,
    version: u64,
    epoch: u64,
    messages: Option<Messages>,
}

impl Stock {
    /// The first `count` objects of a generator.
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

    /// With the same objects in protobuf as well, out of what the peers' `dump` has written.
    pub(super) fn with_protobuf(&self, file: &[u8]) -> Result<Self, String> {
        let messages = Messages::read(self.kind, self.len(), file)?;
        Ok(Self {
            messages: Some(messages),
            ..self.clone()
        })
    }

    /// The format that somebody gets. JSON is always there.
    pub(super) fn format(&self, accept: &str) -> Format {
        match Format::accepted(accept) {
            Format::Protobuf if self.messages.is_some() => Format::Protobuf,
            _ => Format::Json,
        }
    }

    /// The objects in such a format.
    pub(super) fn form(&self, format: Format) -> &dyn Form {
        match (format, &self.messages) {
            (Format::Protobuf, Some(messages)) => messages,
            _ => self,
        }
    }

    /// Of which kind they are.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// The same later: so many percent of the objects have other resource versions, and what was before is forgotten.
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
            // Later than before also when nothing changed, as if something else had.
            version: version + 1,
            epoch: self.epoch + 1,
            ..self.clone()
        }
    }

    /// How often all was changed.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The first resource version that a watch can begin with.
    pub(super) fn oldest(&self) -> u64 {
        if self.epoch == 0 { 0 } else { self.version }
    }

    /// The resource version of the collection as long as nothing was modified.
    pub fn version(&self) -> u64 {
        self.version
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

    fn told(&self, told: Told, buffer: &mut BytesMut) {
        let (number, event) = (told.object, told.event);
        self.begin(told.what, buffer);
        let object = self.object(number);
        let mut place = buffer.len() - 1 + self.versions[number] as usize;
        if let Some(stamp) = told.stamp {
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

/// Appends an event as far as what the object is.
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

/// Appends the bookmark that ends the objects that were there from the start; `rest` is what such an object has besides
/// metadata.
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

/// What an object's annotations begin with.
const ANNOTATIONS: &str = "\"annotations\":{";

/// How many digits a resource version has.
pub(super) const DIGITS: usize = 8;

/// Which object the event of this number after the start is of.
pub(super) fn number_of(event: u64, count: usize) -> usize {
    (event * STRIDE % count as u64) as usize
}

/// Whether an object is among so many percent of all.
pub(super) fn is_changed(number: usize, count: usize, percent: u64) -> bool {
    let count = count as u64;
    number as u64 * STRIDE % count < count * percent / 100
}
