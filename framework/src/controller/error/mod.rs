//! Why a call on a [`Context`](crate::controller::Context) or a reconcile failed.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `error.rs` | [`Error`]: what a `Context` and a controller's declarations return |
//! | `failure.rs` | [`Failure`]: what a reconciler returns, with what the controller makes of it: retry, delay, text |

mod error;
mod failure;

pub use error::Error;
pub(crate) use error::MissingLine;
pub use failure::{Failure, Result};
