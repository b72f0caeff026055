//! The rules of the API, apart from HTTP: what a request does to the store and what it is answered.

mod error;
pub(crate) mod names;

pub(crate) use error::{ApiError, Cause};
