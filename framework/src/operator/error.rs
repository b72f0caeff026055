use std::{io, path::PathBuf};

use crate::{
    client::{self, ConfigError},
    crd::{CrdError, InstallError},
    election::ElectionError,
    server::{Address, TlsError},
};

/// Why an operator does not start, or does not go on: what was tried, what is wrong, what to do. One line each.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// The way to the API server is not known.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A request that the start needs failed.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The listener for metrics and health cannot be opened.
    #[error(
        "cannot listen on {address} for metrics and health: {source}: \
         choose another address with --metrics-address, or 0 for none"
    )]
    #[non_exhaustive]
    Listen {
        /// The address asked for.
        address: Address,
        /// What the system says.
        source: io::Error,
    },
    /// There is no certificate to serve HTTPS with.
    #[error("cannot serve metrics and health over HTTPS: {0}")]
    Certificate(#[from] TlsError),
    /// A certificate of the operator's own was asked for and cannot be made in this build.
    #[error(
        "this binary was built without certificates of its own: build it with the feature `self-signed` of \
         pilothouse, or name a certificate and a key (--metrics-cert-path)"
    )]
    NoSelfSigned,
    /// The function that builds a reconciler failed.
    #[error("cannot build the reconciler of {kind}: {reason}")]
    #[non_exhaustive]
    Reconciler {
        /// The kind it reconciles.
        kind: String,
        /// What it said.
        reason: String,
    },
    /// Two controllers have one name: that of their kind, unless they are named.
    #[error(
        "two controllers are named {name}, and nobody could tell their metrics, logs and Events apart: \
         name one of them otherwise, with `.named(\"..\")` in `wire`"
    )]
    #[non_exhaustive]
    SameName {
        /// Their name.
        name: String,
    },
    /// The settings of the election are wrong.
    #[error(transparent)]
    Election(#[from] ElectionError),
    /// The lease was lost; all work was cancelled, and has ended.
    #[error("leadership was lost: {}", lost(.lease, .leader.as_deref()))]
    #[non_exhaustive]
    LeadershipLost {
        /// Namespace and name of the Lease.
        lease: String,
        /// Who holds it now, if that was seen.
        leader: Option<String>,
    },
    /// A runnable of the user's own failed.
    #[error("the runnable {name} failed: {reason}")]
    #[non_exhaustive]
    Runnable {
        /// Its name.
        name: String,
        /// What it said.
        reason: String,
    },
    /// A background task ended that must not: a defect of the framework, or a runnable that panicked.
    #[error("the operator cannot go on: {reason}")]
    #[non_exhaustive]
    Task {
        /// Which, and what it said.
        reason: String,
    },
    /// Work still runs though its time is over and it was cancelled: it blocks its thread.
    #[error("work did not end when it was cancelled: it blocks its thread")]
    Overtime,
    /// A kind has no definition that Kubernetes accepts.
    #[error(transparent)]
    Definition(#[from] CrdError),
    /// The process cannot do what every program can: start a runtime, listen to signals.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
    /// The embedded API server was asked for and is not in this build.
    #[error(
        "this binary was built without the embedded API server: \
         build it with the feature `dev` of pilothouse"
    )]
    NoSandbox,
    /// Nothing says where the kubeconfig of the embedded API server is to be written.
    #[error(
        "cannot write the kubeconfig of the embedded API server: nothing says where the folders of this user are: \
         set HOME or XDG_CACHE_HOME to an absolute path that only this user can write to"
    )]
    NoHome,
    /// The embedded API server does not start.
    #[error("cannot start the embedded API server{}: {reason}", on(*.port))]
    #[non_exhaustive]
    Sandbox {
        /// The port asked for; 0 for a free one.
        port: u16,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The kinds cannot be installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The kubeconfig of the embedded API server cannot be written.
    #[error("cannot write the kubeconfig {}: {source}", .path.display())]
    #[non_exhaustive]
    Kubeconfig {
        /// Where it belongs.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The collector that the environment names cannot be used.
    #[error("traces cannot be sent: {0}: check the variables OTEL_EXPORTER_OTLP_*")]
    Traces(String),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
}

fn on(port: u16) -> String {
    if port == 0 {
        String::new()
    } else {
        format!(" on port {port}")
    }
}

fn lost(lease: &str, leader: Option<&str>) -> String {
    match leader {
        Some(leader) => format!("{leader} holds Lease {lease} now"),
        None => format!("Lease {lease} could not be renewed in time"),
    }
}
