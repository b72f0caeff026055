use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pilothouse_sabotage::{Broken, Weaver};
use serde_json::Value;

use crate::{Outcome, tests::Tests};

/// The program of a package's unit tests.
pub(crate) struct Binary {
    program: PathBuf,
    folder: PathBuf,
}

impl Binary {
    /// Builds it with all changes but those that do not compile, and names these.
    pub(crate) fn build(
        sources: &Path,
        package: &str,
        weaver: &mut Weaver,
    ) -> Outcome<(Self, BTreeSet<String>)> {
        let mut left_out = BTreeSet::new();
        loop {
            let lines = weaver.write()?;
            let mut cargo = Command::new("cargo");
            cargo.current_dir(sources).args(["test", "--locked", "-q"]);
            cargo.args(["-p", package, "--lib", "--no-run"]);
            cargo.args(["--message-format", "json"]);
            let done = cargo.stderr(Stdio::null()).output()?;
            let messages = String::from_utf8_lossy(&done.stdout);
            if done.status.success() {
                let binary = messages.lines().find_map(Self::built);
                return Ok((binary.ok_or("cargo names no tests")?, left_out));
            }
            let broken = Broken::among(&messages, &lines);
            if broken.names.is_empty() {
                return Err(
                    format!("{package} does not build\n{}", broken.others.join("\n")).into(),
                );
            }
            println!("{} changes do not compile", broken.names.len());
            for error in &broken.others {
                println!("an error that points to none of them:\n{error}");
            }
            weaver.leave_out(&broken.names);
            left_out.extend(broken.names);
        }
    }

    /// What a line of cargo's messages says was built.
    fn built(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        let path = |value: &Value| value.as_str().map(PathBuf::from);
        let manifest = path(&message["manifest_path"])?;
        Some(Self {
            program: path(&message["executable"])?,
            folder: manifest.parent()?.to_owned(),
        })
    }

    /// Those of its tests that have one of the names' parts.
    pub(crate) fn tests(&self, names: &[String]) -> Outcome<Tests> {
        Tests::new(self.program.clone(), self.folder.clone(), names)
    }
}
