//! `walked.txt`: a digest of the steps of each page, as they were when they were last walked without a problem. A walk takes minutes, so that it does
//! not run with the other tests. They compare the digests, and so notice an edit that nobody has walked.

use std::{collections::BTreeMap, fs, io, path::Path};

use regex::Regex;
use ring::digest;

use crate::page::Step;

const PLACE: &str = "tests/tutorial/walked.txt";

/// A digest of what a reader does and sees. The lines of the page at which the steps are do not count.
pub fn digest(steps: &[Step]) -> String {
    let line = Regex::new(r"\bline: [0-9]+").expect("a constant");
    let text = format!("{steps:#?}");
    let text = line.replace_all(&text, "line: _");
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    let bytes = digest.as_ref().iter().take(8);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of each walk, by its name.
///
/// # Errors
/// The file cannot be read.
pub fn read(repository: &Path) -> io::Result<BTreeMap<String, String>> {
    let text = fs::read_to_string(repository.join(PLACE))?;
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    Ok(lines
        .map(|(name, digest)| (name.to_owned(), digest.to_owned()))
        .collect())
}

/// Records that these steps were walked.
///
/// # Errors
/// The file cannot be written.
pub fn write(repository: &Path, name: &str, steps: &[Step]) -> io::Result<()> {
    let mut all = read(repository).unwrap_or_default();
    all.insert(name.to_owned(), digest(steps));
    let lines = all
        .iter()
        .map(|(name, digest)| format!("{name} {digest}\n"));
    fs::write(repository.join(PLACE), lines.collect::<String>())
}
