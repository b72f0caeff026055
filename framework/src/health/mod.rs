//! Named checks behind `/healthz`, `/livez` and `/readyz`.
//!
//! [`Checks`] is a set of named functions, each answering whether one part of the process is well.
//! [`Checks::report`] runs them all and gives a [`Report`], written the way Kubernetes' own components
//! write theirs, so that people and scripts find what they know:
//!
//! ```
//! use pilothouse::health::{Checks, Query};
//!
//! let ready = Checks::new("readyz");
//! ready.add("ping", || Ok(()));
//! ready.add("informers", || Err("list websites in all namespaces: connection refused".into()));
//!
//! let report = ready.report(&Query::default());
//! assert!(!report.healthy());
//! assert_eq!(
//!     report.to_string(),
//!     "[+]ping ok\n\
//!      [-]informers failed: list websites in all namespaces: connection refused\n\
//!      readyz check failed\n",
//! );
//! ```
//!
//! Checks are synchronous and must not block: they report what is known, they do not go and see.
//! A check that panics has failed; the others still answer.
//!
//! A [`Lifeline`] tells whether the background tasks of a process are alive.

mod checks;
mod lifeline;
mod query;
mod report;

pub use checks::{Checks, Health};
pub use lifeline::Lifeline;
pub(crate) use lifeline::panic_message;
pub use query::Query;
pub use report::{Entry, Outcome, Report};
