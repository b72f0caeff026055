//! Runs controllers as a program: command line, start, HTTP endpoints and an orderly stop.
//!
//! [`Operator`] combines [`Reconciler`](crate::controller::Reconciler)s under one name. There are three ways to run
//! it. Each later way leaves more to the program:
//!
//! * [`Operator::main`] is the whole program. Its subcommands are `run` (the default), `dev` (an API server in the
//!   process, to try things out; feature `dev`), `crd` (checks and prints the definitions of the operator's kinds; `crd install` installs them, and `crd migrate` writes old stored objects again), `rbac` (prints the least roles), `manifests` (prints all that the
//!   operator needs in a cluster), `alerts` (prints the alerts for Prometheus), `dashboard` (prints a dashboard for Grafana), `uninstall` (removes the operator's finalizers),
//!   `adopt-from` (takes over the objects of another operator) and `version`. In `dev` the
//!   operator and the kubeconfig's user are administrators; other users have the permissions that roles and bindings
//!   give them. Workloads and their Pods run there, simulated.
//!   [`Operator::main_with`] adds the program's own flags, and [`Operator::subcommands`] its own subcommands. Every flag is also an environment variable and a
//!   name in the file of `--config`. The flag has priority, then the variable (`WEBSITE_METRICS_ADDRESS` for the
//!   operator `website`), the file, the program's default and the framework's default.
//! * [`Operator::run`] is a future, for programs with their own runtime, client and signal handling.
//! * [`Operator::start`] returns a [`Running`], which the program can inspect while the operator works.
//!
//! With the feature `otel`, the spans of reconciles and of their requests are sent to a collector if
//! `OTEL_EXPORTER_OTLP_ENDPOINT` is set. The other `OTEL_*` variables have their usual meaning.
//!
//! # Start
//! The listener for `/metrics`, `/healthz`, `/livez` and `/readyz` opens first, so that a start that hangs can be
//! inspected. Then the reconcilers are built and the caches fill. Each controller starts when the caches that its `wire`
//! names have synced ([R4](crate#guarantees)). A kind that is forbidden or not served holds back only the controllers that need it.
//! `/readyz?verbose` names it with verb, resource and namespace, and shows since when. Liveness never depends on the
//! API server.
//!
//! `run` takes part in a leader election unless `--leader-elect=false` is given. The other ways do so only with an
//! [election](Operator::election). A process with full caches that does not lead is ready and stands by;
//! `/readyz?verbose` shows the leader. When the process becomes the leader, its caches first catch up with the writes of the previous
//! leader ([R5](crate#guarantees)). Then its controllers start.
//!
//! # Panics
//! If the command line sets up the log, it also installs a panic hook: each panic is logged once, as an event of tracing
//! with the message and the place in the source. A panic that the framework catches, such as that of a reconcile, is part
//! of the line of its failure, which names the object; all others have a line of their own. With `RUST_BACKTRACE` a
//! backtrace is logged too. The text of the default hook is not printed. A hook that the program installed before
//! [`Operator::main`] is still called, and one that it installs later replaces this one. If the program sets up the log
//! itself, or runs the operator without a command line, no hook is installed.
//!
//! # Stop
//! On SIGTERM or Ctrl-C readiness fails and no new reconcile starts ([R12](crate#guarantees)). Running reconciles get 25 s, in which the Lease
//! is renewed; then they are dropped. Recorded Events are sent within 2 s. The caches stop, then the listener, and
//! finally the Lease is released. Webhooks go on answering until 5 s after the signal or later, so that no API server calls a process that
//! has ended. The process ends within 29 s even if something hangs. A second signal ends it at
//! once.
//!
//! When leadership is lost, all work is cancelled at once and nothing more is sent ([R11](crate#guarantees)). If a background task panics, the
//! renewal of the Lease included, or a [runnable](Operator::runnable) fails, the operator stops in order.
//!
//! # Exit codes
//! | code | reason |
//! | --- | --- |
//! | 0 | the operator stopped in order |
//! | 1 | the operator could not start; or a background task or a runnable failed, and the rest stopped in order |
//! | 2 | the command line is invalid |
//! | 3 | work did not end in time: it ran 2 s before another process may lead, or 29 s after the start of the stop |
//! | 4 | leadership was lost, and all work ended in time |
//! | 130 | a second signal; or a signal while a subcommand of the program's own runs |
//!
//! # Map for contributors
//! | file | holds |
//! | --- | --- |
//! | `operator.rs` | [`Operator`]: its controllers and options |
//! | `main.rs`, `command_line.rs`, `settings/` | the program: subcommands; flags, environment and file |
//! | `definition_check/`, `program_check.rs` | what `crd` checks before it prints; what can be wrong in a program |
//! | `compatible.rs` | `crd --compatible-with` |
//! | `definitions/` | the commands `crd install` and `crd migrate` |
//! | `rbac.rs`, `declared_access.rs` | the command `rbac`; the access that no reconciler tells |
//! | `manifests.rs`, `printed.rs` | the command `manifests`; output of objects, and its comparison with a file |
//! | `moving/` | the commands `uninstall` and `adopt-from` |
//! | `version.rs` | the command `version` |
//! | `output/` | folders of generated files |
//! | `monitoring.rs` | the commands `alerts` and `dashboard` |
//! | `work_tasks.rs` | the tasks of the work by name, for the error of a stop that takes too long |
//! | `subcommands.rs` | subcommands of the program's own, and [`CommandSetup`] |
//! | `route.rs`, `own_checks.rs` | [`Route`] and health checks of the program's own |
//! | `setup.rs`, `registration.rs`, `runnable.rs` | [`Setup`], and how reconcilers and runnables are built and run |
//! | `running.rs`, `stopping.rs` | [`Running`]: start in order, stop in order |
//! | `shutdown_cause.rs`, `error.rs` | the first failure that stops the operator; [`OperatorError`] and the exit codes |
//! | `signals.rs` | SIGTERM, Ctrl-C, and the end of a process that hangs |
//! | `leadership.rs` | the operator's part in the leader election |
//! | `readiness.rs` | the checks behind `/readyz` |
//! | `serving.rs` | [`Serving`]: HTTP or HTTPS, and access to metrics |
//! | `admission.rs`, `rule_check.rs` | the admission rules of an operator; what an API server says of their expressions |
//! | `on_sandbox.rs` | asks an API server in this process, for checks before the first cluster |
//! | `webhooks.rs` | [`WebhookServing`]: the webhooks of an operator, and how they start and stop |
//! | `debug/` | the debug page and [`DebugReport`] |
//! | `logs/`, `traces/` | the log and its filter; spans for OpenTelemetry |
//! | `dev/` | the API server in the process |

mod admission;
mod command_line;
mod compatible;
mod debug;
mod declared_access;
mod definition_check;
mod definitions;
#[cfg(feature = "dev")]
mod dev;
mod error;
mod leadership;
mod logs;
mod main;
mod manifests;
mod monitoring;
mod moving;
#[cfg(feature = "dev")]
mod on_sandbox;
mod operator;
mod output;
mod own_checks;
mod printed;
mod program_check;
mod rbac;
mod readiness;
mod registration;
mod route;
#[cfg(feature = "dev")]
mod rule_check;
mod runnable;
mod running;
#[cfg(feature = "dev")]
mod scorecard;
mod serving;
mod settings;
mod setup;
mod shutdown_cause;
mod signals;
mod stopping;
mod subcommands;
#[cfg(test)]
mod tests;
mod traces;
mod version;
mod webhooks;
mod work_tasks;

pub use debug::{DebugReport, InformerReport, UndecodableReport};
pub use declared_access::Declared;
#[cfg(feature = "dev")]
pub(crate) use definition_check::{OwnDefinition, check as check_definitions};
pub use error::OperatorError;
pub use logs::{LogError, LogHandle};
pub use operator::Operator;
pub use route::Route;
#[cfg(feature = "dev")]
pub(crate) use rule_check::check as check_admission_rules;
pub use running::Running;
pub use serving::Serving;
pub use setup::{NoFlags, Setup};
pub use subcommands::CommandSetup;
pub use webhooks::WebhookServing;

/// The crate that parses the command line, for flags and subcommands of your own.
pub use clap;
