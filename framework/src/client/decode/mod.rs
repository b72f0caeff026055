//! From bytes to typed objects, in one pass.
//!
//! This is the same for every [`Codec`](super::codec::Codec). It skips `metadata.managedFields`. It decodes a second
//! time, leniently, only if the first pass fails. So good input does not pay for bad input. Reasons name a path and an
//! expected type, never a value.
//!
//! | file | holds |
//! | --- | --- |
//! | `object.rs`, `list.rs`, `event.rs` | decodes one object (also into an `Arc`), a list, a frame of a watch |
//! | `object_bytes.rs` | an object that is not decoded yet: its bytes, and where the fields lie that a cache needs |
//! | `dictionary` | what many objects of a kind contain, so that each is small |
//! | `received.rs` | an object for a cache: decoded if it is small and will be read |
//! | `lenient.rs` | reads the parts of an object that does not fit its type |
//! | `skip.rs` | skips `metadata.managedFields` |
//! | `types.rs` | compares the kind of an answer with the requested one |
//! | `span.rs` | the span around each decoding |
//! | `decode_thread.rs` | the thread of the informers that decodes |

mod decode_thread;
#[cfg(test)]
mod depth_test;
mod dictionary;
#[cfg(test)]
mod encodings_test;
mod event;
mod lenient;
mod list;
mod object;
mod object_bytes;
#[cfg(test)]
mod object_bytes_test;
#[cfg(test)]
mod protobuf_test;
mod received;
mod skip;
mod span;
mod types;

#[cfg(test)]
pub(crate) use decode_thread::end_of_thread;
pub(crate) use decode_thread::{DecodeThread, Decoder, Offloaded};
pub(crate) use dictionary::{Dictionary, Samples};
pub(crate) use event::{Event, decode_event, receive_event};
pub(crate) use list::{decode_list, receive_list};
pub(crate) use object::{
    DecodedArc, decode_any, decode_deleted, decode_object, decode_plain, decode_status,
};
pub(crate) use object_bytes::ObjectBytes;
pub(crate) use received::Received;
pub(crate) use types::{Types, shown};
