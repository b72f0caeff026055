//! Retries: after a conflict, and after the connection to the server failed.
//!
//! The stack repeats single requests by itself ([`RetryLayer`](super::stack::RetryLayer)). This module is for callers
//! that repeat a step of several requests.
//!
//! | file | holds |
//! | --- | --- |
//! | `backoff.rs` | [`Backoff`]: how many attempts, and how long the pauses between them are |
//! | `retry_on_conflict.rs` | [`retry_on_conflict`]: repeats a read and a write until the write meets no conflict |
//! | `reconnections.rs` | [`Reconnections`]: shortens pauses when the server answers another request again |

mod backoff;
mod reconnections;
mod retry_on_conflict;

pub use backoff::Backoff;
pub(crate) use reconnections::Reachability;
pub use reconnections::Reconnections;
pub use retry_on_conflict::retry_on_conflict;
