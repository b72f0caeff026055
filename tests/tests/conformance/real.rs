//! The real API server: one given by its kubeconfig, or one of our own for the time of the test.

use std::{
    env,
    ffi::OsString,
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
};

use pilothouse::client::{Client, Config, KubeconfigOptions};
use std::io::{BufRead, BufReader};
use tempfile::TempDir;

/// A kubeconfig of any cluster.
const KUBECONFIG: &str = "PILOTHOUSE_CLUSTER";
/// The program that `tests/cluster/build` makes.
const BINARY: &str = "PILOTHOUSE_CLUSTER_BINARY";
/// Nothing but the tests may change the objects of the tests.
const CONTROLLERS: &str = "--controllers=garbage-collector-controller,namespace-controller";

/// A connection to a real API server, which ends with it when it is ours.
pub(crate) struct Real {
    pub(crate) client: Client,
    _own: Option<Own>,
}

/// The server's process. It ends with its input, and removes what it has written.
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

impl Real {
    /// The server that the environment names, or none.
    pub(crate) async fn from_environment() -> Option<Self> {
        if let Some(kubeconfig) = set(KUBECONFIG) {
            let client = connect(PathBuf::from(kubeconfig)).await;
            return Some(Self { client, _own: None });
        }
        let own = start(set(BINARY)?);
        let client = connect(own._folder.path().join("kubeconfig")).await;
        Some(Self {
            client,
            _own: Some(own),
        })
    }

    /// What to say where there is none.
    pub(crate) fn skipped() -> String {
        format!("skipped: real API server: neither {KUBECONFIG} nor {BINARY} is set\n")
    }
}

fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}

fn start(program: OsString) -> Own {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(program)
        .arg(CONTROLLERS)
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = child.stdin.take();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert!(line.starts_with("ready: "), "the API server did not start");
    Own {
        child,
        input,
        _folder: folder,
    }
}

async fn connect(kubeconfig: PathBuf) -> Client {
    let options = KubeconfigOptions {
        path: Some(kubeconfig),
        ..Default::default()
    };
    Client::new(Config::from_kubeconfig(&options).await.unwrap()).unwrap()
}
