//! The sandbox for programs that read a kubeconfig from a file.

use std::{fs, path::Path};

use pilothouse_sandbox::{Builder, HttpsServer, Sandbox};
use tempfile::NamedTempFile;

/// A sandbox that listens for HTTPS until this is dropped.
pub struct ServedSandbox {
    kubeconfig: NamedTempFile,
    _server: HttpsServer,
    _sandbox: Sandbox,
}

impl ServedSandbox {
    /// Starts the sandbox, and writes the kubeconfig of its administrator.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start() -> Self {
        Self::with(Sandbox::builder()).await
    }

    /// Starts a sandbox with these settings, and writes the kubeconfig of its administrator.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn with(sandbox: Builder) -> Self {
        let sandbox = sandbox.build().expect("a sandbox");
        let address = ([127, 0, 0, 1], 0).into();
        let server = sandbox.serve_https(address).await.expect("a free port");
        let kubeconfig = NamedTempFile::new().expect("a file for the kubeconfig");
        fs::write(kubeconfig.path(), sandbox.kubeconfig(&server)).expect("room on the disk");
        Self {
            kubeconfig,
            _server: server,
            _sandbox: sandbox,
        }
    }

    /// The file of the kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        self.kubeconfig.path()
    }
}
