//! Named checks behind `/healthz`, `/livez` and `/readyz`.
//!
//! [`Checks`] is a set of named functions. Each function reports whether one part of the process
//! works. [`Checks::report`] runs them all and returns a [`Report`] in the format of Kubernetes' own
//! components, so that people and scripts can read it:
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
//! Checks are synchronous and must not block: they report what is already known and send no request.
//! A check that panics counts as failed; the other checks still run.
//!
//! A [`TaskMonitor`] reports whether the background tasks of a process are alive.
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `checks.rs` | [`Checks`]: the set, and how it runs |
//! | `query.rs` | [`Query`]: `?verbose` and `?exclude` |
//! | `report.rs` | [`Report`], [`Entry`], [`Outcome`]: the result and its text |
//! | `panics.rs` | catches panics, and reports those that nobody catches |
//! | `task_monitor.rs` | [`TaskMonitor`]: notices a background task that panics |

mod checks;
mod panics;
mod query;
mod report;
mod task_monitor;

pub use checks::{Checks, Health};
#[cfg(all(feature = "dev", not(test)))]
pub(crate) use panics::keep_places;
pub(crate) use panics::{CaughtPanic, catch_panic, catch_panic_of, report_panics};
pub use query::Query;
pub(crate) use query::decoded_parameter;
pub use report::{Entry, Outcome, Report};
pub use task_monitor::TaskMonitor;
