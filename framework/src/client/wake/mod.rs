//! Wakes a task for one part of its work.
//!
//! | file | holds |
//! | --- | --- |
//! | `part_waker.rs` | [`PartWaker`]: knows whether a part, such as a connection, must be polled |
//! | `sync.rs` | the locks of `part_waker.rs`, which the loom model replaces |
//! | `woken.rs` | a waker for tests, which counts how often it is woken |

mod part_waker;
#[cfg(test)]
mod part_waker_test;
mod sync;
#[cfg(test)]
pub(crate) mod woken;

pub(crate) use part_waker::PartWaker;
