//! A program around controllers: command line, start, endpoints, and an orderly stop.
//!
//! [`Operator`] gathers [`Reconciler`](crate::controller::Reconciler)s under one name. Then, the more a program
//! owns itself the further down:
//!
//! * [`Operator::main`] is the whole program. Its subcommands are `run` (what happens without one), `dev` (an API
//!   server in the process, to try things out; feature `dev`) and `crd` (prints the definitions of its kinds). In `dev`
//!   the operator and the kubeconfig's user are administrators; others may do what roles and bindings allow.
//!   [`Operator::main_with`] adds flags of one's own. Every flag is an environment variable and a name in the file of
//!   `--config` as well: the flag comes first, then the variable (`WEBSITE_METRICS_ADDRESS` of the operator `website`),
//!   the file, the program's default, ours.
//! * [`Operator::run`] is a future for programs that have a runtime, a client and signals of their own.
//! * [`Operator::start`] gives a [`Running`] to look at while it works.
//!
//! With the feature `otel` the spans of reconciles and of their requests go to a collector, when
//! `OTEL_EXPORTER_OTLP_ENDPOINT` says where it is; the other `OTEL_*` variables count as everywhere.
//!
//! # Start
//! The listener for `/metrics`, `/healthz`, `/livez` and `/readyz` opens first, so that a start that hangs can be
//! looked at. Then the reconcilers are built, then the caches fill, and each controller begins when the caches that
//! its `wire` names have synced. A kind that is not served or forbidden holds back only the controllers that need
//! it, and `/readyz?verbose` names it with verb, resource and namespace, and says for how long it has been so. Liveness
//! never depends on the API server.
//!
//! `run` elects unless `--leader-elect=false` is said, the other forms with an [election](Operator::election) only.
//! Then a process that has full caches is ready and stands by: `/readyz?verbose` says who leads. Once it leads, its caches
//! catch up with what the leader of before wrote; then its controllers begin.
//!
//! # Stop
//! On SIGTERM or Ctrl-C readiness fails, no new reconcile begins, and those that run get 25 s, in which the lease is
//! renewed; what runs still is dropped then. Events that were recorded are sent, for 2 s at most. Caches stop, then the
//! listener, and last of all the lease is given back. The process ends within 29 s, whatever hangs; a second
//! signal ends it at once.
//!
//! When leadership is lost, all of it is cancelled at once, and nothing is sent any more. A background task that
//! panics, the renewal of the lease among them, or a [runnable](Operator::runnable) that fails, leads to an orderly stop.
//!
//! # Exit codes
//! | code | why |
//! | --- | --- |
//! | 0 | it stopped in order |
//! | 1 | it could not start; or a background task or a runnable failed, and the rest stopped in order |
//! | 2 | the command line is wrong |
//! | 3 | work still ran when it had to have ended: 2 s before another process may lead, or 29 s after the stop began |
//! | 4 | leadership was lost, and all work ended in time |
//! | 130 | a second signal |

mod command_line;
mod debug;
#[cfg(feature = "dev")]
mod dev;
mod error;
mod exit;
mod flags;
mod leadership;
mod logs;
mod main;
#[allow(clippy::module_inception)]
mod operator;
mod readiness;
mod registration;
mod runnable;
mod running;
mod serving;
mod settings;
mod setup;
mod signals;
mod stopping;
#[cfg(test)]
mod tests;
mod traces;
mod trouble;

pub use debug::{DebugReport, InformerReport, QuarantinedReport};
pub use error::OperatorError;
pub use flags::NoFlags;
pub use logs::{LogError, LogHandle};
pub use operator::Operator;
pub use running::Running;
pub use serving::Serving;
pub use setup::Setup;

/// The crate that reads the command line, for flags of one's own.
pub use clap;
