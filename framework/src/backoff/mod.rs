//! How long to wait before the next attempt.
//!
//! | file | what it contains |
//! | --- | --- |
//! | `growth.rs` | [`Growth`]: the first pause, the factor, the longest pause and the random part, as values |
//! | `backoff.rs` | [`Backoff`]: the pauses of one loop, and when they start over |
//! | `jitter.rs` | [`Jitter`]: the random part |
//!
//! Code that counts failures itself uses [`Growth`] alone: the workqueue gives the number of failures of a key to its rate
//! limiters, and a reflector counts the short watches with and without progress.

mod backoff;
mod growth;
mod jitter;

pub(crate) use backoff::Backoff;
pub(crate) use growth::Growth;
pub use jitter::Jitter;
