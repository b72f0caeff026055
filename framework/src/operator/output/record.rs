use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path},
};

use ring::digest::{SHA256, digest};

use crate::manifests::Files;

/// The name of the record of the generated files.
pub(super) const RECORD: &str = ".generated";

/// The checksums of the generated files of a folder. While files are moved into the folder, a file has two: that of its old and that of
/// its new content.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record(BTreeMap<String, BTreeSet<String>>);

impl Record {
    pub(super) fn new(files: &Files) -> Self {
        let files = files.iter();
        Self(
            files
                .map(|(name, text)| (name.clone(), BTreeSet::from([sum(text)])))
                .collect(),
        )
    }

    /// Reads the lines after the first one. Returns `None` if they are broken.
    pub(super) fn parse(lines: &str) -> Option<Self> {
        let mut record = Self::default();
        for line in lines.lines() {
            let (checksum, name) = line.split_once("  ").filter(|(_, name)| is_below(name))?;
            let checksums = record.0.entry(name.to_owned()).or_default();
            checksums.insert(checksum.to_owned());
        }
        Some(record)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether a file of this name was generated with this text, apart from the places of the user.
    pub(super) fn has_text(&self, name: &str, text: &str) -> bool {
        let checksums = self.0.get(name);
        checksums.is_some_and(|checksums| checksums.contains(&sum(text)))
    }

    /// The record while the files are moved.
    pub(super) fn and(&self, newer: &Self) -> Self {
        let mut both = self.clone();
        for (name, checksums) in &newer.0 {
            let all = both.0.entry(name.clone()).or_default();
            all.extend(checksums.iter().cloned());
        }
        both
    }

    /// The content of the file. `command` generates the folder; it stands in the first line.
    pub(super) fn to_text(&self, command: &str) -> String {
        let mut text = format!("# {command}\n");
        for (name, checksums) in &self.0 {
            for checksum in checksums {
                text += &format!("{checksum}  {name}\n");
            }
        }
        text
    }
}

/// Whether a path of the record stays in the folder. The file may come from elsewhere, and its files are removed.
fn is_below(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The SHA-256 checksum as hexadecimal digits.
fn sum(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
