use std::{io, path::PathBuf};

use crate::{
    client::{self, ConfigError},
    crd::{CrdError, InstallError},
    server::Address,
};

/// Why an operator does not start: what was tried, what is wrong, what to do. One line each.
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
    /// The function that builds a reconciler failed.
    #[error("cannot build the reconciler of {kind}: {reason}")]
    #[non_exhaustive]
    Reconciler {
        /// The kind it reconciles.
        kind: String,
        /// What it said.
        reason: String,
    },
    /// A kind has no definition that Kubernetes accepts.
    #[error(transparent)]
    Definition(#[from] CrdError),
    /// The log filter does not parse.
    #[error("{origin} {text}: {reason}: write a level such as `debug`, or `info,pilothouse=debug`")]
    #[non_exhaustive]
    LogFilter {
        /// Where it stands.
        origin: &'static str,
        /// The filter.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// The process cannot do what every program can: start a runtime, listen to signals.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
    /// The embedded API server was asked for and is not in this build.
    #[error(
        "this binary was built without the embedded API server: \
         build it with the feature `dev` of pilothouse"
    )]
    NoSandbox,
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
