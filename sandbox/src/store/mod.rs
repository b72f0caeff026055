//! Where objects live: every kind in one order of changes.
//!
//! A [`Store`] holds each object as an `Arc<Value>` under its kind and [`Key`]. Every write gets the next number of one counter,
//! the resource version; nothing is ever written twice under one number. Each kind keeps the last changes in a ring, both the
//! state before and after, from which come watches and the lists of the past. What fell out of the ring is compacted: asking for
//! it is an error, as on a real server.
//!
//! A watch is a place in the ring ([`Subscription`]), not a queue: a reader that does not read holds no memory, and finds its
//! place compacted when it comes back too late.

mod bucket;
mod change;
mod key;
pub(crate) mod selector;
#[expect(
    clippy::module_inception,
    reason = "the type and the concept share their name"
)]
mod store;
mod subscription;
#[cfg(test)]
mod tests;

pub(crate) use change::Change;
pub(crate) use key::Key;
pub(crate) use store::{Commit, CommitError, Entry, Store, Write};
pub(crate) use subscription::{Batch, Subscription};

/// The history asked for is gone; the oldest resource version still known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted {
    pub(crate) oldest: u64,
}
