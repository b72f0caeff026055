//! The tower stack that a request passes on its way to a connection.
//!
//! From outside in: the user's layers, [`Total`] deadline, [`Traced`], [`Retry`], and once per
//! attempt [`Counted`], [`Auth`], [`Impersonate`], [`Headers`], [`Base`] URI, [`Answer`] deadline, and the pool.

mod after;
mod answer;
mod auth;
mod base;
mod counted;
mod deadline;
mod dispatch;
mod exec;
mod headers;
mod identity_files;
mod impersonate;
mod retry;
mod retry_after;
mod token;
mod total;
mod traced;
mod warnings;

pub(crate) use answer::Answer;
pub(crate) use auth::{Auth, Authenticator};
pub(crate) use base::Base;
pub(crate) use counted::Counted;
pub(crate) use deadline::{TimedOut, TotalDeadline};
pub(crate) use dispatch::Dispatch;
pub use dispatch::RequestService;
pub(crate) use headers::Headers;
pub(crate) use impersonate::Impersonate;
pub(crate) use retry::Retry;
pub(crate) use retry_after::retry_after;
pub(crate) use total::Total;
pub(crate) use traced::Traced;
