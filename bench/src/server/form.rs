//! In which form objects are handed out.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// A form, as requests and answers name it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Format {
    Json,
    Protobuf,
}

impl Format {
    /// The first of those that `accept` names; JSON for who names none.
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

    /// What an answer says that it is.
    pub(super) fn content_type(self, watch: bool) -> &'static str {
        match (self, watch) {
            (Self::Json, _) => "application/json",
            (Self::Protobuf, false) => "application/vnd.kubernetes.protobuf",
            (Self::Protobuf, true) => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }
}

/// What an event tells.
#[derive(Clone, Copy)]
pub(super) struct Told {
    /// Its type.
    pub(super) what: &'static str,
    /// Of which object.
    pub(super) object: usize,
    /// Which event after the start it is, from 0.
    pub(super) event: u64,
    /// When it was written.
    pub(super) stamp: Option<u64>,
}

/// All objects of a kind in one form.
pub(super) trait Form: Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// A page of the list, with the item that the next begins with and how many are left.
    fn list(&self, page: Range<usize>, continues: Option<(usize, usize)>) -> [Bytes; 3];

    /// Appends the event by which a watch tells of an object that was there from the start.
    fn added(&self, number: usize, buffer: &mut BytesMut);

    /// Appends an event after the start, with the annotation `bench/stamp` if there is a stamp. There is at least one
    /// object.
    fn told(&self, told: Told, buffer: &mut BytesMut);

    /// Appends the bookmark that ends the objects that were there from the start.
    fn end_of_list(&self, buffer: &mut BytesMut);

    /// Appends the event that ends a watch of what is forgotten.
    fn expired(&self, buffer: &mut BytesMut);
}
