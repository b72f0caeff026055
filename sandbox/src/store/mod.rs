//! The store of objects: every kind, in one order of changes.
//!
//! A [`Store`] holds each object as JSON ([`Encoded`]) under its kind and [`Key`]. Lists and watches send this JSON as it is;
//! what looks into an object decodes it. Every write gets the next number of one
//! counter, the resource version, so no two writes share a number. Each kind keeps its last changes in a ring, with the
//! states before and after. Watches and lists of the past read from the ring. Changes that fell out of the ring are
//! compacted: reading them is an error, as on a real server.
//!
//! A watch is a position in the ring ([`Subscription`]), not a queue: a reader that does not read uses no memory. If it
//! returns too late, its position is compacted.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `store.rs` | [`Store`] and its writes |
//! | `bucket.rs` | the objects of one kind, and the ring of their changes |
//! | `key.rs` | the key of an object |
//! | `encoded.rs` | [`Encoded`] |
//! | `recent.rs` | the decoded objects that were used last |
//! | `subscription.rs` | [`Subscription`] |
//! | `selector/` | label and field selectors |

mod bucket;
mod encoded;
mod key;
mod recent;
pub(crate) mod selector;
mod store;
mod subscription;
#[cfg(test)]
mod tests;

pub(crate) use bucket::{BucketId, Change, Objects};
pub(crate) use encoded::Encoded;
pub(crate) use key::Key;
pub(crate) use store::{Commit, CommitError, Entry, Saved, Store, Write};
pub(crate) use subscription::{Batch, Subscription};

/// The requested history is gone. Contains the oldest resource version that is still known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted {
    pub(crate) oldest: u64,
}
