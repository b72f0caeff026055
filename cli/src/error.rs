use std::{io, path::PathBuf};

use crate::{documents::Unreadable, import::Problem, names::NameError};

/// Why a subcommand did not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("{} exists and is not an empty folder: choose another name, or another folder with --path", .0.display())]
    FolderInUse(PathBuf),
    #[error("the workspace of {} has a package `{name}` already: choose another name, or a folder outside of the workspace with --path", manifest.display())]
    NameInUse { name: String, manifest: PathBuf },
    #[error("{} exists already, and stays as it is: choose another kind, or move the file", .0.display())]
    FileExists(PathBuf),
    #[error(
        "there is no kind `{kind}` with `#[resource(..)]` in the files of {}: add it with `cargo pilothouse add kind {}`, or write its name as there",
        sources.display(),
        kind.rsplit("::").next().unwrap_or_default()
    )]
    NoKind { kind: String, sources: PathBuf },
    #[error(
        "there are several kinds `{kind}`: name one with its modules, such as `{}`; there are {}",
        paths.first().map_or("", String::as_str),
        paths.join(", ")
    )]
    SeveralKinds { kind: String, paths: Vec<String> },
    #[error("{} is not the folder of the framework: it has no Cargo.toml of the package `pilothouse`", .0.display())]
    NoFramework(PathBuf),
    #[error("there is no file {}", .0.display())]
    NoFile(PathBuf),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} cannot be changed: {reason}", path.display())]
    Manifest { path: PathBuf, reason: String },
    #[error("{}:{}: {source}: fix it, and run the command again", path.display(), source.span().start().line)]
    Syntax { path: PathBuf, source: syn::Error },
    #[error("{} is missing: the function `operator` with the kinds stands there; move it there from src/main.rs", .0.display())]
    NoLibrary(PathBuf),
    #[error("cargo cannot be started: {0}; is it in the PATH?")]
    Cargo(io::Error),
    #[error("cargo cannot read the package: {0}")]
    Metadata(String),
    #[error(
        "there is no package here: {0}; change to the folder of the operator, or create one with `cargo pilothouse new`"
    )]
    NoPackage(String),
    #[error("{0}")]
    Package(String),
    #[error(
        "another `cargo pilothouse dev` of `{0}` runs: stop it first, or build into another folder with CARGO_TARGET_DIR"
    )]
    Running(String),
    #[error("the API server cannot be started: {0}")]
    Server(String),
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: Unreadable },
    #[error("{from}: {source}")]
    Definition { from: String, source: Problem },
    #[error("{}: {reason}", path.display())]
    Version { path: PathBuf, reason: String },
    #[error("{0}")]
    Import(String),
    #[error("kubectl cannot read the definitions of the cluster: {0}")]
    Cluster(String),
    #[error("{program} cannot be started: {source}")]
    Program { program: PathBuf, source: io::Error },
    #[error("the operator does not build: fix what the compiler shows")]
    Build,
    /// Another program has shown it.
    #[error("the operator has shown it")]
    Shown,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Error {
    /// An error with the path of the file that it is about.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
