//! A run of `cargo build`, and the program that it made.

use std::{path::PathBuf, process::Stdio};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::{error::Error, package};

/// What a build led to.
#[derive(Debug, PartialEq)]
pub(crate) enum Built {
    /// The program is new.
    New(PathBuf),
    /// The program is as it was.
    Same(PathBuf),
    /// Cargo has shown why.
    Failed,
}

impl Built {
    /// The program, if there is one.
    pub(crate) fn path(self) -> Option<PathBuf> {
        match self {
            Self::New(path) | Self::Same(path) => Some(path),
            Self::Failed => None,
        }
    }
}

/// Builds a program of a package. Cargo shows its progress and the errors of the compiler on standard error.
pub(crate) async fn build(package: &package::Package, program: &str) -> Result<Built, Error> {
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
        .current_dir(&package.folder)
        .stdout(Stdio::piped())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let mut cargo = cargo.spawn().map_err(Error::Cargo)?;
    let mut built = Built::Failed;
    if let Some(output) = cargo.stdout.take() {
        let mut lines = BufReader::new(output).lines();
        while let Some(line) = lines.next_line().await? {
            if let Some(artifact) = artifact(&line, program) {
                built = artifact;
            }
        }
    }
    let status = cargo.wait().await?;
    Ok(if status.success() {
        built
    } else {
        Built::Failed
    })
}

/// The program, if the line of Cargo is about it.
fn artifact(line: &str, program: &str) -> Option<Built> {
    let message: Value = serde_json::from_str(line).ok()?;
    let target = &message["target"];
    let is_program = message["reason"] == "compiler-artifact"
        && target["name"] == program
        && target["kind"].as_array()?.contains(&"bin".into());
    let path = message["executable"]
        .as_str()
        .filter(|_| is_program)?
        .into();
    Some(match message["fresh"] == true {
        true => Built::Same(path),
        false => Built::New(path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_in_what_cargo_writes() {
        let line = |reason: &str, kind: &str, fresh: bool| {
            let target = format!("{{\"name\":\"web\",\"kind\":[\"{kind}\"]}}");
            format!(
                "{{\"reason\":\"{reason}\",\"target\":{target},\"executable\":\"/t/web\",\"fresh\":{fresh}}}"
            )
        };
        let made = |line: &str| artifact(line, "web");
        assert_eq!(
            made(&line("compiler-artifact", "bin", false)),
            Some(Built::New("/t/web".into()))
        );
        assert_eq!(
            made(&line("compiler-artifact", "bin", true)),
            Some(Built::Same("/t/web".into()))
        );
        for other in [
            line("build-script-executed", "bin", false),
            line("compiler-artifact", "lib", false),
            "Hello".into(),
        ] {
            assert_eq!(made(&other), None, "{other}");
        }
        assert_eq!(
            artifact(&line("compiler-artifact", "bin", false), "other"),
            None
        );
    }
}
