//! The tower stack that a request passes on its way to a connection.

mod deadline;
mod dispatch;
mod retry_after;

pub(crate) use deadline::{TimedOut, TotalDeadline};
pub(crate) use dispatch::Dispatch;
pub use dispatch::RequestService;
pub(crate) use retry_after::retry_after;
