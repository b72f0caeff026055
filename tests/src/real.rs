//! A real API server for tests: a given cluster, or our own server for the duration of the test.

use std::{
    env,
    ffi::OsString,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use tempfile::TempDir;

/// The variable with the kubeconfig of any cluster.
const KUBECONFIG: &str = "PILOTHOUSE_CLUSTER";
/// The variable with the program that `tests/cluster/build` builds.
const BINARY: &str = "PILOTHOUSE_CLUSTER_BINARY";

/// A real API server. If it is our own, it ends when this is dropped, and removes its files.
pub struct RealServer {
    kubeconfig: PathBuf,
    own: Option<Own>,
}

/// A node of a real server.
pub struct RealNode {
    _own: Own,
}

/// A running program of `tests/cluster`.
struct Own {
    child: Child,
    input: Option<ChildStdin>,
    folder: TempDir,
}

impl Own {
    /// Starts a program with a folder as its last argument, and waits until it is ready.
    fn start(command: &mut Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the program");
        let mut child = command
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program of tests/cluster");
        let input = child.stdin.take();
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        let read = BufReader::new(output).read_line(&mut line);
        assert!(
            read.is_ok() && line.starts_with("ready: "),
            "{command:?} did not start"
        );
        Self {
            child,
            input,
            folder,
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

impl RealServer {
    /// Returns the server that the environment names. `arguments` are those of `tests/cluster`; they do not affect a given
    /// cluster. If the environment names none, this prints that the test was skipped, bypassing the test harness, which
    /// swallows the output of passing tests.
    ///
    /// # Panics
    /// If the server does not start.
    pub fn from_environment(arguments: &[&str]) -> Option<Self> {
        if let Some(kubeconfig) = set(KUBECONFIG) {
            let kubeconfig = kubeconfig.into();
            return Some(Self {
                kubeconfig,
                own: None,
            });
        }
        let Some(program) = set(BINARY) else {
            let skipped =
                format!("skipped: real API server: neither {KUBECONFIG} nor {BINARY} is set\n");
            let _ = io::stderr().write_all(skipped.as_bytes());
            return None;
        };
        Some(Self::start(program, arguments))
    }

    fn start(program: OsString, arguments: &[&str]) -> Self {
        let own = Own::start(Command::new(program).args(arguments));
        Self {
            kubeconfig: own.folder.path().join("kubeconfig"),
            own: Some(own),
        }
    }

    /// Adds a node whose kubelet runs the programs of containers on this machine, and which ends when this is dropped.
    ///
    /// # Panics
    /// If the server is not our own, or the node does not start.
    pub fn serve_node(&self, name: &str) -> RealNode {
        assert!(self.is_own(), "a node needs our own server: set {BINARY}");
        let mut kubelet = Command::new(set(BINARY).unwrap_or_default());
        kubelet.args(["kubelet", "--node", name, "--kubeconfig"]);
        RealNode {
            _own: Own::start(kubelet.arg(&self.kubeconfig)),
        }
    }

    /// Whether the environment names a given cluster.
    pub fn is_given() -> bool {
        set(KUBECONFIG).is_some()
    }

    /// Returns the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns the kubectl of the same version, as the administrator. Only our own server has one.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(set(BINARY).unwrap_or_default());
        command.arg("kubectl").env("KUBECONFIG", &self.kubeconfig);
        command.env("HOME", "/nonexistent");
        command
    }

    /// Whether the server was started for this test. Then its version and settings are those of `tests/cluster`.
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }
}

fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}
