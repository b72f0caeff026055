//! The images of the examples, and of the operator that the tool begins.

use std::{
    env,
    io::{self, Write},
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use pilothouse_tests::real::RealServer;
use tempfile::TempDir;

/// The variable with the folder that `tests/image/build` prints.
const IMAGES: &str = "PILOTHOUSE_IMAGES";

/// The operator that `cargo pilothouse new greeting` writes: `cli/created`.
pub(crate) const CREATED: &str = "greeting";

/// The file systems of the images, by the names of the operators.
pub(crate) struct Images(PathBuf);

impl Images {
    /// Returns `None` if the environment names none, and says that the test is skipped.
    pub(crate) fn from_environment() -> Option<Self> {
        named(IMAGES).map(Self)
    }

    /// A new folder on the same disk.
    pub(crate) fn folder(&self) -> TempDir {
        tempfile::tempdir_in(&self.0).unwrap()
    }

    pub(crate) fn root(&self, example: &str) -> PathBuf {
        self.0.join(example)
    }

    /// What the program in an image prints.
    pub(crate) fn printed(&self, example: &str, arguments: &str) -> String {
        let mut command = Command::new(self.root(example).join("program"));
        succeeded(command.args(arguments.split_whitespace()))
    }

    /// The objects of `manifests` with these flags.
    pub(crate) fn manifests(&self, example: &str, flags: &str) -> String {
        let line = format!("manifests --image registry.example.com/{example}:1.0 {flags}");
        self.printed(example, &line)
    }
}

/// The path in a variable. Without it the test is skipped, and says so.
pub(crate) fn named(variable: &str) -> Option<PathBuf> {
    let path = env::var_os(variable).filter(|path| !path.is_empty());
    if path.is_none() {
        skipped(&format!("{variable} is not set"));
    }
    path.map(PathBuf::from)
}

/// Says that a test is skipped. Not by `println!`, because the harness hides the output of a passing test.
pub(crate) fn skipped(reason: &str) {
    let text = format!("skipped: real API server: {reason}\n");
    io::stderr().write_all(text.as_bytes()).unwrap();
}

/// The output of a program that must succeed.
pub(crate) fn succeeded(command: &mut Command) -> String {
    let output = command.output().unwrap();
    text(command, output)
}

fn text(command: &Command, output: Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text}{error}");
    text
}

/// The output of kubectl with `input` as its standard input.
pub(crate) fn kubectl(server: &RealServer, arguments: &str, input: &str) -> String {
    let mut command = server.kubectl();
    command.args(arguments.split_whitespace());
    let output = output_of(&mut command, input);
    text(&command, output)
}

/// The output of a program that reads `input` before it writes much, as kubectl does.
pub(crate) fn output_of(command: &mut Command, input: &str) -> Output {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}
