use std::{io, path::PathBuf, process::ExitCode, time::Duration};

use crate::{
    client::{self, ConfigError, MappingError},
    controller,
    crd::{CrdError, InstallError, MigrationError},
    election::{EXIT_OVERDUE, ElectionError},
    server::{Address, TlsError},
};

/// Why an operator does not start, or stops by itself. Each text says what failed, why, and what to do. It is one line, except
/// those of [`Refused`](Self::Refused), [`Incompatible`](Self::Incompatible), [`NotInstalled`](Self::NotInstalled),
/// [`Migration`](Self::Migration) and [`Unfinished`](Self::Unfinished).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// The configuration for the API server could not be loaded.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A request that the start needs failed.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The listener for metrics and health cannot be opened.
    #[error(
        "cannot listen on {address} for metrics and health: {source}: \
         choose another address with --metrics-address, or 0 to turn the listener off"
    )]
    #[non_exhaustive]
    Listen {
        /// The requested address.
        address: Address,
        /// The error of the system.
        source: io::Error,
    },
    /// HTTPS was requested, but there is no usable certificate.
    #[error("cannot serve metrics and health over HTTPS: {0}")]
    Certificate(#[from] TlsError),
    /// A self-signed certificate was requested, but this build cannot create one.
    #[error(
        "this binary cannot create a self-signed certificate: build it with the feature `self-signed` of \
         pilothouse, or give a certificate and a key (--metrics-cert-path)"
    )]
    NoSelfSigned,
    /// The function that builds a reconciler failed.
    #[error("cannot build the reconciler of {kind}: {reason}")]
    #[non_exhaustive]
    Reconciler {
        /// The reconciled kind.
        kind: String,
        /// The error of the function.
        reason: String,
    },
    /// A reconciler's `wire` declares what cannot work; see [`Controller::check`](crate::controller::Controller::check).
    #[error("the controller of {kind} cannot start: {source}")]
    #[non_exhaustive]
    Controller {
        /// The reconciled kind.
        kind: String,
        /// What is wrong.
        source: Box<controller::Error>,
    },
    /// The access of a controller is not known to a command that prints roles, or
    /// [`Operator::wiring`](super::Operator::wiring) declares another access than `wire`.
    #[error("the access of the controller of {kind}: {problem}")]
    #[non_exhaustive]
    Wiring {
        /// The reconciled kind.
        kind: String,
        /// The problem, and what to do.
        problem: String,
    },
    /// The name of [`Operator::new`](super::Operator::new) cannot be used in the cluster.
    #[error(
        "the name of the operator, `{name}`, {problem}: write it like `Operator::new(\"website\")`"
    )]
    #[non_exhaustive]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Two controllers have the same name. Without a name of its own, a controller has the name of its kind.
    #[error(
        "two controllers have the name {name}, so their metrics, logs and Events cannot be distinguished: \
         give one of them another name with `.named(\"..\")` in `wire`"
    )]
    #[non_exhaustive]
    SameName {
        /// The name.
        name: String,
    },
    /// A namespace of [`Operator::namespaces`](super::Operator::namespaces) has an invalid name. An empty name does not mean
    /// all namespaces.
    #[error(
        "the operator works in the namespace `{name}`, but {rule}: correct it in `Operator::namespaces`"
    )]
    #[non_exhaustive]
    Namespace {
        /// The name.
        name: String,
        /// The rule for names.
        rule: String,
    },
    /// A route of the program's own cannot be served.
    #[error("the operator cannot serve the route `{path}`: {problem}")]
    #[non_exhaustive]
    Route {
        /// The path of the route.
        path: String,
        /// The problem, and what to do.
        problem: String,
    },
    /// A webhook cannot be served or configured.
    #[error("the operator cannot have the webhook at {path}: {problem}")]
    #[non_exhaustive]
    Webhook {
        /// The path of the webhook.
        path: String,
        /// The problem, and what to do.
        problem: String,
    },
    /// An admission rule of the program is not valid.
    #[error("{place}: {rule}: {problem}")]
    #[non_exhaustive]
    AdmissionRule {
        /// The rule and its kind.
        rule: String,
        /// File and line of the rule.
        place: String,
        /// The problem, and what to do.
        problem: String,
    },
    /// An API server would not accept the admission rules, or would not evaluate them: of each problem the place in the source, the
    /// rule, the expression and what to do.
    #[error("an API server would refuse the admission rules:\n  {}", .0.join("\n  "))]
    RefusedRules(Vec<String>),
    /// The API server is too old for an admission rule.
    #[error(
        "the API server has no {kind} in admissionregistration.k8s.io/v1: the checks of an admission rule need Kubernetes 1.30, and its \
         defaults 1.36: use a webhook (`Validate`, `Mutate`) for an older server"
    )]
    #[non_exhaustive]
    RuleNotServed {
        /// The kind that is missing.
        kind: String,
    },
    /// The listener for webhooks cannot be opened.
    #[error(
        "cannot listen on {address} for webhooks: {source}: choose another address with --webhook-address"
    )]
    #[non_exhaustive]
    ListenWebhooks {
        /// The requested address.
        address: Address,
        /// The error of the system.
        source: io::Error,
    },
    /// The webhooks cannot be served.
    #[error("cannot serve webhooks: {0}")]
    Webhooks(String),
    /// An operator of a test did not become ready. The text has a line for each check of `/readyz` that fails.
    #[error("the operator is not ready after {} s:\n  {}", .waited.as_secs(), .checks.join("\n  "))]
    #[non_exhaustive]
    NotReady {
        /// How long it was waited, by tokio's clock.
        waited: Duration,
        /// The name of each check that fails, and the reason.
        checks: Vec<String>,
    },
    /// A health check of the program's own cannot be added.
    #[error("the operator cannot add the check `{name}` to {endpoint}: {problem}")]
    #[non_exhaustive]
    Check {
        /// The path of the endpoint.
        endpoint: String,
        /// The name of the check.
        name: String,
        /// The problem, and what to do.
        problem: String,
    },
    /// A subcommand or a flag of the program's own has the name of another one.
    #[error("the command line of the operator is not possible: {0}")]
    CommandLine(String),
    /// A subcommand of the program's own failed.
    #[error("the subcommand {name} failed: {reason}")]
    #[non_exhaustive]
    Subcommand {
        /// The name of the subcommand.
        name: String,
        /// Its error.
        reason: String,
    },
    /// A signal ended a subcommand of the program's own.
    #[error("a signal ended the subcommand {name}")]
    #[non_exhaustive]
    Interrupted {
        /// The name of the subcommand.
        name: String,
    },
    /// The settings of the leader election are invalid.
    #[error(transparent)]
    Election(#[from] ElectionError),
    /// The Lease was lost. All work was cancelled and has ended.
    #[error("leadership was lost: {}", lost(.lease, .leader.as_deref(), .reason.as_deref()))]
    #[non_exhaustive]
    LeadershipLost {
        /// Namespace and name of the Lease.
        lease: String,
        /// The identity of the new holder, if it was seen.
        leader: Option<String>,
        /// The error of the last renewal, if it failed.
        reason: Option<String>,
    },
    /// A runnable of the user failed.
    #[error("the runnable {name} failed: {reason}")]
    #[non_exhaustive]
    Runnable {
        /// The name of the runnable.
        name: String,
        /// The error of the runnable.
        reason: String,
    },
    /// A background task panicked: a defect of the framework, or a runnable of the user.
    #[error("the operator stops because a task failed: {reason}")]
    #[non_exhaustive]
    Task {
        /// The task and its panic message.
        reason: String,
    },
    /// Cancelled work has not ended in time, because it blocks its thread.
    #[error("cancelled work did not end in time, because it blocks its thread: {work}")]
    #[non_exhaustive]
    Overtime {
        /// The controllers with the objects that they reconcile, and the runnables.
        work: String,
    },
    /// Two Rust types define the same kind, so one of the definitions would be lost.
    #[error(
        "{kind} is defined by two Rust types of this operator, {first} and {second}, but only one of the definitions could be installed: {advice}"
    )]
    #[non_exhaustive]
    TwoTypes {
        /// Plural and group of the kind.
        kind: String,
        /// The type of the first controller, with its version.
        first: String,
        /// The type of the other controller, with its version.
        second: String,
        /// What to do.
        advice: String,
    },
    /// Kubernetes would not accept the definition of a kind.
    #[error(transparent)]
    Definition(#[from] CrdError),
    /// An API server would refuse the definitions of the operator's kinds. The text has a line for each problem, with the Rust
    /// type and the path of the field.
    #[error("an API server would refuse the definitions:\n  {}", .0.join("\n  "))]
    Refused(Vec<String>),
    /// The definitions take something from stored objects or from clients of the older ones. The text has two lines for each change:
    /// what it is and what to do.
    #[error("the definitions are not compatible with those before:\n  {}", .0.join("\n  "))]
    Incompatible(Vec<String>),
    /// `crd install` would take something from stored objects or from clients. Nothing was installed. The text has two lines for each change.
    #[error(
        "nothing was installed, because the cluster's definitions are not compatible with those of this program:\n  {}\n\
         `{command}` installs them nevertheless", .changes.join("\n  ")
    )]
    #[non_exhaustive]
    NotInstalled {
        /// Each change, and what to do.
        changes: Vec<String>,
        /// The command that ignores them.
        command: String,
    },
    /// The stored objects of a kind are not in the stored version.
    #[error(transparent)]
    Migration(#[from] MigrationError),
    /// The file of `crd --compatible-with` cannot be read.
    #[error("cannot read the older definitions from {}: {problem}", .file.display())]
    #[non_exhaustive]
    OlderDefinitions {
        /// The path of the file.
        file: PathBuf,
        /// Document, line and path in the document, and the problem there.
        problem: String,
    },
    /// The file of `--check` is not what the command prints.
    #[error("{} {problem}: write the output to it and commit it", .file.display())]
    #[non_exhaustive]
    Outdated {
        /// The file.
        file: PathBuf,
        /// The problem.
        problem: String,
    },
    /// A folder of `manifests --output` cannot be written or compared. The text names the file, the problem and what to do.
    #[error("{0}")]
    Folder(String),
    /// A process of an operator works, and would undo what `uninstall` or `adopt-from` does. Nothing was changed, unless the text says
    /// otherwise.
    #[error("{what}: {advice}")]
    #[non_exhaustive]
    StillRuns {
        /// What shows that it works.
        what: String,
        /// What to do.
        advice: String,
    },
    /// `uninstall` cannot list the objects of a kind that the cluster knows. They may have finalizers of the operator, so it does not say
    /// what to delete.
    #[error(
        "the objects of {kind} cannot be listed: {problem}. Some of them may have finalizers of the operator: serve a version of the kind, \
         and run the command again"
    )]
    #[non_exhaustive]
    NotServed {
        /// The kind: plural and group.
        kind: String,
        /// Why they cannot be listed.
        problem: String,
    },
    /// `uninstall` found finalizers to remove, but nobody agreed to it.
    #[error(
        "nothing was removed: `{command}` removes the finalizers, with the other flags of this command"
    )]
    #[non_exhaustive]
    NotConfirmed {
        /// The command that does it.
        command: String,
    },
    /// The flags of `adopt-from` do not fit the operator or the cluster.
    #[error("cannot adopt: {0}")]
    Adoption(String),
    /// `uninstall` or `adopt-from` could not change some objects. The text has a line for each.
    #[error("not all objects could be changed:\n  {}", .0.join("\n  "))]
    Unfinished(Vec<String>),
    /// The check of `cargo pilothouse check` found this many things. They are printed.
    #[error("{} should be better", things(*.0))]
    Findings(usize),
    /// It is not known which kinds the API server serves.
    #[error("cannot find out what the API server serves: {0}")]
    Discovery(#[from] MappingError),
    /// The system refused to start a runtime or a thread, or to register signal handlers.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
    /// The embedded API server was requested, but this build does not contain it.
    #[error(
        "this binary was built without the embedded API server: \
         build it with the feature `dev` of pilothouse"
    )]
    NoSandbox,
    /// The folder for the kubeconfig of the embedded API server is not known.
    #[error(
        "cannot write the kubeconfig of the embedded API server: this user's folders are not known: \
         set HOME or XDG_CACHE_HOME to an absolute path that only this user can write to"
    )]
    NoHome,
    /// The embedded API server does not start.
    #[error("cannot start the embedded API server{}: {reason}", on(*.port))]
    #[non_exhaustive]
    Sandbox {
        /// The requested port; 0 for a free one.
        port: u16,
        /// The problem, and what to do.
        reason: String,
    },
    /// The kinds cannot be installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// A file of `dev --install` cannot be read, or the embedded API server refuses what it holds.
    #[error("cannot install {}: {problem}", .file.display())]
    #[non_exhaustive]
    InstallFile {
        /// The path of the file.
        file: PathBuf,
        /// Document, line and path in the document, and the problem there.
        problem: String,
    },
    /// The kubeconfig of the embedded API server cannot be written.
    #[error("cannot write the kubeconfig {}: {source}", .path.display())]
    #[non_exhaustive]
    Kubeconfig {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Spans cannot be sent to the collector of the environment variables.
    #[error("sending traces is not possible: {0}: check the variables OTEL_EXPORTER_OTLP_*")]
    Traces(String),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
}

// The exit codes. The module's page and the book have a table of them.

/// The operator could not start, or a part of it failed.
pub(super) const FAILED: u8 = 1;
/// Work did not end in time. The election's watchdog ends the process with the same code.
pub(super) const OVERTIME: u8 = EXIT_OVERDUE as u8;
/// Leadership was lost, and all work ended in time.
pub(super) const LEADERSHIP_LOST: u8 = 4;
/// A second signal, or the first one if a subcommand of the program runs. Shells report an interrupt with this code.
pub(super) const INTERRUPTED: u8 = 130;

impl OperatorError {
    /// The exit code for this error, for programs with their own `main`. The [module's page](super) has the table.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    pub(super) fn code(&self) -> u8 {
        match self {
            Self::LeadershipLost { .. } => LEADERSHIP_LOST,
            Self::Overtime { .. } => OVERTIME,
            Self::Interrupted { .. } => INTERRUPTED,
            _ => FAILED,
        }
    }
}

fn things(count: usize) -> String {
    match count {
        1 => "1 thing".into(),
        count => format!("{count} things"),
    }
}

fn on(port: u16) -> String {
    if port == 0 {
        String::new()
    } else {
        format!(" on port {port}")
    }
}

fn lost(lease: &str, leader: Option<&str>, reason: Option<&str>) -> String {
    match (leader, reason) {
        (Some(leader), _) => format!("{leader} now holds the Lease {lease}"),
        (None, Some(reason)) => {
            format!("the Lease {lease} was not renewed in time: the last renewal failed: {reason}")
        }
        (None, None) => format!("the Lease {lease} was not renewed in time"),
    }
}
