//! The formats in which the server sends objects.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// A format that requests and answers name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Format {
    Json,
    Protobuf,
}

impl Format {
    /// Returns the first format that `accept` names, or JSON if it names none.
    pub(super) fn accepted(accept: &str) -> Self {
        accept
            .split(',')
            .find_map(|kind| {
                let name = kind.split(';').next().unwrap_or_default().trim();
                match name {
                    "application/json" => Some(Self::Json),
                    "application/vnd.kubernetes.protobuf" => Some(Self::Protobuf),
                    _ => None,
                }
            })
            .unwrap_or(Self::Json)
    }

    /// Returns the content type of an answer.
    pub(super) fn content_type(self, watch: bool) -> &'static str {
        match (self, watch) {
            (Self::Json, _) => "application/json",
            (Self::Protobuf, false) => "application/vnd.kubernetes.protobuf",
            (Self::Protobuf, true) => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }
}

/// The content of an event.
#[derive(Clone, Copy)]
pub(super) struct EventContent {
    /// Its type.
    pub(super) what: &'static str,
    /// The number of its object.
    pub(super) object: usize,
    /// The number of the event after the start, from 0.
    pub(super) event: u64,
    /// The time when it was written.
    pub(super) stamp: Option<u64>,
}

/// All objects of a kind in one format.
pub(super) trait Form: Send + Sync {
    /// Returns the number of objects.
    fn len(&self) -> usize;

    /// Returns a page of the list, with the first item of the next page and the number of remaining items.
    fn list(&self, page: Range<usize>, continues: Option<(usize, usize)>) -> [Bytes; 3];

    /// Appends the event of an initial object.
    fn added(&self, number: usize, buffer: &mut BytesMut);

    /// Appends an event after the start, with the annotation `bench/stamp` if there is a stamp. There is at least one
    /// object.
    fn write_event(&self, content: EventContent, buffer: &mut BytesMut);

    /// Appends the bookmark that ends the initial objects.
    fn end_of_list(&self, buffer: &mut BytesMut);

    /// Appends the error event that ends a watch whose history is gone.
    fn expired(&self, buffer: &mut BytesMut);
}
