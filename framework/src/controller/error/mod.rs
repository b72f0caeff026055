//! Why a call on a [`Context`](crate::controller::Context) or a reconcile failed.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `error.rs` | [`Error`]: what a `Context` and a controller's declarations return |
//! | `failure.rs` | [`Failure`]: what a reconciler returns, with what the controller makes of it: retry, delay, text |
//! | `class.rs` | what an error and its causes say about a failure: who can end it, and when it is retried |

mod class;
mod error;
mod failure;

pub use error::Error;
pub(crate) use error::MissingLine;
pub(crate) use failure::UNDECODABLE_RECHECK;
pub use failure::{Failure, Result};
