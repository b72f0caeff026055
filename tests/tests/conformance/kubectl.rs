//! Runs kubectl against one server.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use pilothouse_tests::kubectl;
use tempfile::TempDir;
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

/// A time limit that no command reaches normally.
const PATIENCE: Duration = Duration::from_secs(60);

/// The newest kubectl of the tests, with the kubeconfig of a server.
pub(crate) struct Kubectl {
    program: Option<PathBuf>,
    kubeconfig: PathBuf,
    homes: TempDir,
}

/// What a command printed, and how it ended.
pub(crate) struct Printed {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Kubectl {
    pub(crate) fn new(kubeconfig: PathBuf) -> Self {
        Self {
            program: kubectl::programs().into_iter().next(),
            kubeconfig,
            homes: tempfile::tempdir().unwrap(),
        }
    }

    /// Runs a command in a namespace, with a home of its own for the cache of discovery.
    ///
    /// `line` is split at spaces; single quotes hold words together. What follows ` # ` tells the line from an equal one.
    /// `{namespace}` stands for the namespace. The working folder is `manifests`. The editor replaces `before` by `after`.
    pub(crate) async fn run(&self, namespace: &str, line: &str, input: &str) -> Printed {
        let mut child = self.command(namespace, line).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that does not read its input closes it early.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = timeout(PATIENCE, child.wait_with_output()).await;
        let output = output.unwrap_or_else(|_| panic!("kubectl {line} does not end"));
        let output = output.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Printed {
            code: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Returns a command for a line as that of [`run`](Self::run), with pipes for its input and outputs.
    pub(crate) fn command(&self, namespace: &str, line: &str) -> Command {
        let program = self.program.as_ref().expect("a kubectl");
        let home = self.homes.path().join(namespace);
        fs::create_dir_all(&home).unwrap();
        let line = line.split(" # ").next().unwrap_or_default();
        let line = line.replace("{namespace}", namespace);
        let mut command = Command::new(program);
        command
            .arg(format!("--namespace={namespace}"))
            .args(words(&line))
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", &home)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBE_EDITOR", "sed -i s/before/after/")
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/manifests"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }
}

/// Splits a line into words at the spaces outside single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(character),
        }
    }
    words
}
