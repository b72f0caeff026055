//! The subcommand `add kind`: writes the files of a kind, and adds the kind to the operator in `src/lib.rs`.
//!
//! It inserts text at places that the syntax tree tells, and changes nothing else. If `src/lib.rs` has no place for it, it prints
//! what to write.

mod edit;

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    arguments::AddKindOptions,
    error::Error,
    names::{ApiVersion, Kind, OperatorName},
    package,
    template::{self, Names},
};
use edit::{Edited, Place};

pub(crate) fn run(options: &AddKindOptions) -> Result<(), Error> {
    let kind = Kind::new(&options.kind)?;
    let package = package::find(&env::current_dir()?, options.package.as_deref())?;
    let lib = package.folder.join("src/lib.rs");
    if !lib.exists() {
        return Err(Error::NoLibrary(lib));
    }
    let text = fs::read_to_string(&lib).map_err(Error::file(&lib))?;
    let api_version = match &options.api_version {
        Some(version) => ApiVersion::new(version)?,
        None => match declared(&package.folder.join("src")) {
            Some(version) => version,
            None => ApiVersion::new("example.com/v1")?,
        },
    };
    let names = Names {
        operator: &OperatorName::new(&package.name)?,
        kind: &kind,
        api_version: &api_version,
        framework: "",
        folder: "",
    };
    let files: Vec<_> = template::KIND
        .iter()
        .map(|(path, text)| (package.folder.join(names.fill(path)), names.fill(text)))
        .collect();
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(Error::FileExists(path.clone()));
    }
    let edited = edit::add(&text, &kind).map_err(|source| Error::Syntax {
        path: lib.clone(),
        source,
    })?;

    for (path, text) in &files {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::file(folder))?;
        }
        fs::write(path, text).map_err(Error::file(path))?;
        println!("wrote {}", shown(path, &package.folder));
    }
    let written: Vec<_> = files.into_iter().map(|(path, _)| path).collect();
    template::format(&written);
    let Edited {
        text: changed,
        missing,
    } = edited;
    if changed != text {
        let was_formatted = is_formatted(&lib);
        fs::write(&lib, changed).map_err(Error::file(&lib))?;
        if was_formatted {
            template::format(std::slice::from_ref(&lib));
        }
        println!("changed {}", shown(&lib, &package.folder));
    }
    for needed in ["serde_json", "tokio"] {
        if !package.dependencies.iter().any(|one| one == needed) {
            println!("The test needs {needed}: cargo add --dev {needed}");
        }
    }
    for Place { what, line } in missing {
        println!("{what} was not found in src/lib.rs. Write there: {line}");
    }
    Ok(())
}

fn shown(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// The apiVersion of the kinds that the operator has, if the sources tell it.
fn declared(sources: &Path) -> Option<ApiVersion> {
    let mut files: Vec<_> = fs::read_dir(sources)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
        .iter()
        .find_map(|file| edit::declared(&fs::read_to_string(file).ok()?))
}

/// Whether rustfmt would leave the file as it is.
fn is_formatted(file: &Path) -> bool {
    let mut command = Command::new("rustfmt");
    command
        .args(["--edition", "2024", "--check", "--quiet"])
        .arg(file);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
