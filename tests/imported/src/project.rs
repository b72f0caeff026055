//! The files of the folder `data`.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use serde_json::Value;

/// Definitions and samples of a project.
#[derive(Debug)]
pub struct Project {
    /// The name of its file.
    pub name: String,
    /// The definitions of its kinds.
    pub definitions: Vec<Value>,
    /// The objects of its examples and tests, each with its path there.
    pub samples: Vec<Sample>,
}

/// An object of a project's examples.
#[derive(Debug)]
pub struct Sample {
    /// Where the project has it.
    pub path: String,
    /// The object.
    pub object: Value,
}

impl Project {
    /// The files of a folder.
    pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "gz"));
        paths.sort();
        Ok(paths)
    }

    /// Reads a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut content: Value = serde_json::from_reader(GzDecoder::new(File::open(path)?))?;
        let mut list = |key: &str| match content[key].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        let samples = list("samples").into_iter().map(|mut sample| Sample {
            path: sample["path"].as_str().unwrap_or_default().to_owned(),
            object: sample["object"].take(),
        });
        Ok(Self {
            name: name.trim_end_matches(".json.gz").to_owned(),
            samples: samples.collect(),
            definitions: list("definitions"),
        })
    }
}
