//! The API server's errors.
//!
//! | file | holds |
//! | --- | --- |
//! | `status.rs` | [`Status`] with its details and causes, and a predicate for each reason |
//! | `lenient.rs` | reads a field of a `Status` that may have the wrong type |

mod lenient;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use status::LONGEST_RETRY_AFTER;
pub use status::{Status, StatusCause, StatusDetails};
