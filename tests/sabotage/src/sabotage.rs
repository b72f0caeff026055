use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::edit::{Edit, edited};

/// A change that breaks a behaviour on purpose, and the tests that must fail then.
///
/// It is read from a file `NAME.sabotage`:
///
/// ```text
/// breaks: a panic of a health check is not caught
/// promise: R10
/// test: -p pilothouse --lib health::checks::tests::a_check_that_panics_has_failed
/// file: framework/src/health/checks.rs
/// <<<<
/// code that occurs in the file exactly once
/// ====
/// code that replaces it
/// >>>>
/// ```
///
/// `test` contains the arguments of `cargo test`, with the full name of the test last. A sabotage that several tests must notice
/// repeats `test`; `breaks` and `promise` apply to the tests that follow them. `promise` is optional. A file may have
/// several edits, and a sabotage several files.
#[derive(Debug)]
pub struct Sabotage {
    /// The name of its file, without the extension.
    pub name: String,
    /// The tests that must fail.
    pub rows: Vec<Row>,
    /// The edits of each file by its path in the repository.
    pub files: BTreeMap<String, Vec<Edit>>,
}

/// A test that must fail.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// What the sabotage breaks.
    pub breaks: String,
    /// The promise that the test checks, such as `R10`, or an empty text.
    pub promise: String,
    /// The arguments of `cargo test`.
    pub test: String,
}

impl Sabotage {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or a line is invalid at its position.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(name.into_owned(), &text)
    }

    fn parse(name: String, text: &str) -> Result<Self, String> {
        let (mut rows, mut files) = (Vec::new(), BTreeMap::<String, Vec<Edit>>::new());
        let (mut row, mut file) = (Row::default(), None);
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let wrong = |what: &str| Err(format!("line {}: {what}", number + 1));
            if line == "<<<<" {
                let Some(file) = &file else {
                    return wrong("an edit stands below `file: PATH`");
                };
                let mut part = |end: &str| {
                    let mut found = String::new();
                    for (_, line) in lines.by_ref() {
                        if line == end {
                            return Ok(found);
                        }
                        found.push_str(line);
                        found.push('\n');
                    }
                    Err(format!("the edit of line {} has no `{end}`", number + 1))
                };
                let (from, to) = (part("====")?, part(">>>>")?);
                let edits = files.entry(String::clone(file)).or_default();
                edits.push(Edit { from, to });
                continue;
            }
            if line.is_empty() {
                continue;
            }
            match line.split_once(": ") {
                Some(("breaks", text)) => row.breaks = text.to_owned(),
                Some(("promise", text)) => row.promise = text.to_owned(),
                Some(("test", text)) => {
                    row.test = text.to_owned();
                    rows.push(row.clone());
                }
                Some(("file", text)) => file = Some(text.to_owned()),
                _ => {
                    return wrong(
                        "`breaks: `, `promise: `, `test: `, `file: ` or `<<<<` is expected",
                    );
                }
            }
        }
        if rows.iter().any(|row| row.breaks.is_empty()) {
            return Err("no line `breaks: ` stands before a test".to_owned());
        }
        if files.is_empty() {
            return Err("it changes nothing".to_owned());
        }
        Ok(Self { name, rows, files })
    }

    /// Returns the texts of the files with the sabotage applied, by path.
    ///
    /// # Errors
    /// A file cannot be read, or the code of an edit does not occur in its file exactly once.
    pub fn edited(&self, sources: &Path) -> Result<BTreeMap<String, String>, String> {
        let mut texts = BTreeMap::new();
        for (file, edits) in &self.files {
            let wrong = |error: String| format!("{file}: {error}");
            let text = fs::read_to_string(sources.join(file));
            let text = text.map_err(|error| wrong(error.to_string()))?;
            texts.insert(file.clone(), edited(&text, edits).map_err(wrong)?);
        }
        Ok(texts)
    }
}

/// Returns the paths of the sabotages in a folder, ordered by name.
///
/// # Errors
/// The folder cannot be read.
pub fn paths(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|is| is == "sabotage"))
        .collect();
    paths.sort();
    Ok(paths)
}
