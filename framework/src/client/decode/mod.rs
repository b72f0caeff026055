//! From bytes to typed objects, in one pass.
//!
//! The same for every [`Codec`](super::codec::Codec): `metadata.managedFields` is stepped over; what
//! does not decode is read a second time, leniently, so that good input pays nothing for bad input.
//! Reasons name a path and an expectation, never a value.

mod event;
mod lenient;
mod list;
mod object;
mod shared;
mod skip;

pub(crate) use event::{Event, decode_event};
pub(crate) use list::decode_list;
pub(crate) use object::{decode_deleted, decode_object, decode_plain, decode_status};
pub(crate) use shared::Shared;
