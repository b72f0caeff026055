//! A run of `cargo build`, and the program that it made.

use std::{fs, path::PathBuf, process::Stdio};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::{error::Error, package, terminal::warn};

/// Builds a program of a package, and returns its path, or `None` if the build failed. Cargo shows its progress and the errors of the compiler on standard error.
pub(crate) async fn build(
    package: &package::Package,
    program: &str,
) -> Result<Option<PathBuf>, Error> {
    let mut cargo = tokio::process::Command::from(package::cargo());
    cargo
        .args([
            "build",
            "--message-format",
            "json-render-diagnostics",
            "--package",
            &package.name,
            "--bin",
            program,
        ])
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let mut cargo = cargo.spawn().map_err(Error::Cargo)?;
    let mut built = None;
    if let Some(output) = cargo.stdout.take() {
        let mut lines = BufReader::new(output).split(b'\n');
        while let Some(line) = lines.next_segment().await? {
            built = artifact(&line, program).or(built);
        }
    }
    let status = cargo.wait().await?;
    if !status.success() && package.takes_published && !has_framework(package) {
        warn(
            "The framework is not in Cargo.lock. If cargo found no package `pilothouse`, this version is not published: take a folder with it, in Cargo.toml as \
             `pilothouse = { path = \"FOLDER/framework\" }`, or for a new operator with `cargo pilothouse new NAME --framework FOLDER/framework`",
        );
    }
    Ok(built.filter(|_| status.success()))
}

/// Whether Cargo has found the framework for the package.
fn has_framework(package: &package::Package) -> bool {
    let lock = fs::read_to_string(package.workspace.join("Cargo.lock"));
    lock.is_ok_and(|lock| lock.lines().any(|line| line == "name = \"pilothouse\""))
}

/// The program, if the line of Cargo is about it.
fn artifact(line: &[u8], program: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_slice(line).ok()?;
    let target = &message["target"];
    let is_program = message["reason"] == "compiler-artifact"
        && target["name"] == program
        && target["kind"].as_array()?.contains(&"bin".into());
    let path = message["executable"].as_str();
    path.filter(|_| is_program).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_in_what_cargo_writes() {
        let line = |reason: &str, kind: &str| {
            let target = format!("{{\"name\":\"web\",\"kind\":[\"{kind}\"]}}");
            format!("{{\"reason\":\"{reason}\",\"target\":{target},\"executable\":\"/t/web\"}}")
        };
        let program = line("compiler-artifact", "bin");
        assert_eq!(artifact(program.as_bytes(), "web"), Some("/t/web".into()));
        assert_eq!(artifact(program.as_bytes(), "other"), None);
        for other in [
            line("build-script-executed", "bin"),
            line("compiler-artifact", "lib"),
            "Hello".into(),
        ] {
            assert_eq!(artifact(other.as_bytes(), "web"), None, "{other}");
        }
        assert_eq!(artifact(b"\xff", "web"), None);
    }
}
