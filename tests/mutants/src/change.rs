use std::{collections::BTreeMap, env, fs, path::Path, process::Command};

use pilothouse_sabotage::{Sabotage, paths};
use serde_json::Value;

use crate::{Outcome, subject::Subject};

/// A change of the sources: its name, and what it makes of files.
pub(crate) struct Change {
    pub(crate) name: String,
    pub(crate) files: BTreeMap<String, String>,
}

/// The mutants that cargo-mutants knows of the subject's files.
pub(crate) fn mutants(
    sources: &Path,
    subject: &Subject,
    options: &[String],
) -> Outcome<Vec<Change>> {
    let program = env::var_os("CARGO_MUTANTS").ok_or("CARGO_MUTANTS names no program")?;
    let mut list = Command::new(program);
    list.args(["mutants", "--list", "--json", "--no-config", "--dir"]);
    list.arg(sources).args(["--package", subject.package]);
    for file in subject.files {
        list.args(["--file", file]);
    }
    let done = list.args(options).output()?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into());
    }
    let found: Vec<Value> = serde_json::from_slice(&done.stdout)?;
    // A renamed file must not go unnoticed. With options there may be files without mutants.
    let has = |file: &str| {
        let folder = file.trim_end_matches("**");
        let mut found = found.iter().filter_map(|mutant| mutant["file"].as_str());
        found.any(|of| of == file || folder != file && of.starts_with(folder))
    };
    if let Some(file) = subject.files.iter().find(|file| !has(file))
        && options.is_empty()
    {
        return Err(format!("{}: no mutants of {file}", subject.name).into());
    }
    let mut texts = BTreeMap::new();
    let mut changes = Vec::new();
    for mutant in &found {
        let word = |key: &str| mutant[key].as_str().ok_or(format!("no {key}: {mutant}"));
        let file = word("file")?;
        if !texts.contains_key(file) {
            texts.insert(file, fs::read_to_string(sources.join(file))?);
        }
        let text = &texts[file];
        let place = |key: &str| place(text, &mutant["span"][key]);
        let ends = place("start").zip(place("end"));
        let (from, to) = ends.ok_or_else(|| format!("it is not in its file: {mutant}"))?;
        let mutated = [&text[..from], word("replacement")?, &text[to..]].join(" ");
        changes.push(Change {
            name: word("name")?.to_owned(),
            files: BTreeMap::from([(file.to_owned(), mutated)]),
        });
    }
    Ok(changes)
}

/// Where in the text a line and a column are, both counted from 1.
fn place(text: &str, at: &Value) -> Option<usize> {
    let count = |key: &str| usize::try_from(at[key].as_u64()?.checked_sub(1)?).ok();
    let (line, column) = (count("line")?, count("column")?);
    let mut lines = text.split_inclusive('\n');
    let start: usize = lines.by_ref().take(line).map(str::len).sum();
    let line = lines.next().unwrap_or_default();
    let before: usize = line.chars().take(column).map(char::len_utf8).sum();
    Some(start + before)
}

/// The sabotages of a folder.
pub(crate) fn in_folder(sources: &Path, folder: &Path) -> Outcome<Vec<Change>> {
    let mut changes = Vec::new();
    for path in paths(folder)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match Sabotage::read(&path).and_then(|sabotage| sabotage.edited(sources)) {
            Ok(files) => changes.push(Change {
                name: name.into_owned(),
                files,
            }),
            Err(reason) => println!("stale {name}: {reason}"),
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::place;

    #[test]
    fn columns_count_characters() {
        let text = "one\nzwei äöü drei\n";
        let at = |line, column| place(text, &json!({ "line": line, "column": column }));
        assert_eq!(at(1, 1), Some(0));
        assert_eq!(at(2, 10).map(|at| &text[at..]), Some("drei\n"));
        assert_eq!(at(0, 1), None);
    }
}
