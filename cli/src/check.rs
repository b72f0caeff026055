//! The subcommand `check`: builds the operator, and lets it try itself on an API server in its own process.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{arguments::CheckOptions, build, error::Error, package};

/// The committed definitions, as `crd` prints them.
const COMMITTED: &str = "crd.yaml";

pub(crate) fn run(options: &CheckOptions) -> Result<(), Error> {
    let package = package::find(&env::current_dir()?, options.package.as_deref())?;
    let program = package.program()?;
    if let Some(missing) = options.files.iter().find(|file| !file.exists()) {
        return Err(Error::NoFile(missing.clone()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let built = runtime.block_on(build::build(&package, program))?;
    let path = built.ok_or(Error::Build)?;
    let mut command = Command::new(&path);
    command.args(["scorecard", "--log", "warn"]);
    command.args(files(&package.folder)?).args(&options.files);
    command.args(&options.arguments);
    let status = command.status().map_err(|source| Error::Program {
        program: path,
        source,
    })?;
    match status.success() {
        true => Ok(()),
        // The operator has said what is wrong.
        false => Err(Error::Shown),
    }
}

/// The files that the operator is tried with: the examples, and the committed definitions.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let examples = folder.join("example");
    let mut found = Vec::new();
    if examples.is_dir() {
        for entry in fs::read_dir(&examples).map_err(Error::file(&examples))? {
            found.push(entry?.path());
        }
    }
    let is_manifest = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml" | "json"))
    };
    found.retain(is_manifest);
    found.sort();
    found.extend(Some(folder.join(COMMITTED)).filter(|path| path.is_file()));
    Ok(found)
}
