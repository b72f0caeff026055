use std::{io, path::PathBuf};

use crate::names::NameError;

/// Why a subcommand did not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("{} exists and is not empty: choose another name, or another folder with --path", .0.display())]
    FolderInUse(PathBuf),
    #[error("{} exists already, and stays as it is: choose another kind, or move the file", .0.display())]
    FileExists(PathBuf),
    #[error("{} is no folder with the framework: it has no Cargo.toml of the package `pilothouse`", .0.display())]
    NoFramework(PathBuf),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} cannot be changed: {reason}", path.display())]
    Manifest { path: PathBuf, reason: String },
    #[error("{} is no Rust that can be read: {source}", path.display())]
    Syntax { path: PathBuf, source: syn::Error },
    #[error("cargo cannot be started: {0}; is it in the PATH?")]
    Cargo(io::Error),
    #[error("there is no package here: {0}")]
    Metadata(String),
    #[error("{0}")]
    Package(String),
    #[error("the API server cannot be started: {0}")]
    Server(String),
    #[error("{program} cannot be started: {source}")]
    Program { program: PathBuf, source: io::Error },
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
