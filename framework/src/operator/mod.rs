//! A program around controllers: command line, start, endpoints, and an orderly stop.
//!
//! [`Operator`] gathers [`Reconciler`](crate::controller::Reconciler)s under one name. Then, the more a program
//! owns itself the further down:
//!
//! * [`Operator::main`] is the whole program. Its subcommands are `run` (what happens without one), `dev` (an API
//!   server in the process, to try things out; feature `dev`) and `crd` (prints the definitions of its kinds).
//!   [`Operator::main_with`] adds flags of one's own.
//! * [`Operator::run`] is a future for programs that have a runtime, a client and signals of their own.
//! * [`Operator::start`] gives a [`Running`] to look at while it works.
//!
//! # Start
//! The listener for `/metrics`, `/healthz`, `/livez` and `/readyz` opens first, so that a start that hangs can be
//! looked at. Then the reconcilers are built, then the caches fill, and each controller begins when the caches that
//! its `wire` names have synced. A kind that is not served or forbidden holds back only the controllers that need
//! it, and `/readyz?verbose` names it with verb, resource and namespace. Liveness never depends on the API server.
//!
//! # Stop
//! On SIGTERM or Ctrl-C readiness fails, no new reconcile begins, and those that run get 25 s; what runs still is
//! dropped then. Events that were recorded are sent, for 2 s at most. Caches stop, the listener last. The exit code is 0. A second signal ends the process at once with
//! exit code 130.

mod command_line;
#[cfg(feature = "dev")]
mod dev;
mod error;
mod flags;
mod logging;
mod main;
#[allow(clippy::module_inception)]
mod operator;
mod readiness;
mod registration;
mod running;
mod setup;
mod signals;
#[cfg(test)]
mod tests;

pub use error::OperatorError;
pub use flags::NoFlags;
pub use operator::Operator;
pub use running::Running;
pub use setup::Setup;

/// The crate that reads the command line, for flags of one's own.
pub use clap;
