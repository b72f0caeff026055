//! The verbs of the API, and what is made of several of them.

mod backoff;
mod delete;
mod get;
mod list;
mod modify;
mod retry;
mod wait;
mod watch;
mod write;

pub use backoff::Backoff;
pub(crate) use backoff::random_fraction;
pub use retry::retry_on_conflict;
pub use write::GetOrCreate;
