//! The error of every request, and what can cause it.
//!
//! The stack and the transport pass errors as [`BoxError`], as tower does. The client turns them into an [`Error`], which
//! adds what was tried on which object.
//!
//! | file | holds |
//! | --- | --- |
//! | `error.rs` | [`Error`]: what was tried, on what, and what went wrong |
//! | `error_kind.rs` | [`ErrorKind`]: what went wrong, and what follows for the caller |
//! | `missing_rule.rs` | the RBAC rule that a refused request needs |
//! | `not_declared.rs` | [`NotDeclared`]: a request that the program did not declare |
//! | `connect_error.rs` | [`ConnectError`] and [`ConnectProblem`]: why no connection was made |
//! | `proxy_problem.rs` | [`ProxyProblem`]: why a proxy made no tunnel |
//! | `cause.rs` | the other causes that are recognised by their types |
//! | `chain.rs` | shows an error with its causes in one line |

mod cause;
mod chain;
mod connect_error;
mod error;
mod error_kind;
mod missing_rule;
mod not_declared;
mod proxy_problem;

pub use cause::BoxError;
pub(crate) use cause::{DeadlineExpired, FenceClosed, InvalidGzip, ReaderLagged};
pub(crate) use chain::Chain;
pub use connect_error::{ConnectError, ConnectProblem};
pub use error::Error;
pub use error_kind::ErrorKind;
pub(crate) use missing_rule::{MissingRule, role_advice};
pub use not_declared::NotDeclared;
pub use proxy_problem::ProxyProblem;
