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

struct Own {
    child: Child,
    input: Option<ChildStdin>,
    _folder: TempDir,
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
        let folder = tempfile::tempdir().expect("a folder for the API server");
        let mut child = Command::new(program)
            .args(arguments)
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
            "the API server did not start"
        );
        Self {
            kubeconfig: folder.path().join("kubeconfig"),
            own: Some(Own {
                child,
                input,
                _folder: folder,
            }),
        }
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
