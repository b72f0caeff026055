//! Checks that each test in `tests/PARITY.md` exists. `pilothouse-sabotage` checks those in `tests/sabotage/`.

use std::{collections::BTreeSet, fs, path::Path};

/// Adds the names of the tests in the Rust sources below `folder` to `all`. `folder` may also be a file.
fn tests(folder: &Path, all: &mut BTreeSet<String>) {
    if folder.is_dir() {
        for entry in fs::read_dir(folder).unwrap() {
            tests(&entry.unwrap().path(), all);
        }
    } else if folder
        .extension()
        .is_some_and(|extension| extension == "rs")
    {
        let source = fs::read_to_string(folder).unwrap();
        let mut is_test = false;
        for line in source.lines().map(str::trim_start) {
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if is_test && let Some((_, after)) = line.split_once("fn ") {
                is_test = false;
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                all.insert(after[..end.unwrap_or(after.len())].to_owned());
            }
        }
    }
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn each_client_go_test_has_a_matching_test_or_a_reason() {
    let mut names = BTreeSet::new();
    for folder in ["tests", "model/src", "../framework/src"] {
        tests(&top().join(folder), &mut names);
    }
    // That file lists the scenarios by name.
    let scenarios = fs::read_to_string(top().join("tests/client/main.rs")).unwrap();
    let words = scenarios.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    names.extend(words.filter(|word| word.contains('_')).map(str::to_owned));
    let parity = fs::read_to_string(top().join("PARITY.md")).unwrap();
    let rows = parity
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| client-go"));
    let rows: Vec<_> = rows.filter(|line| !line.starts_with("| ---")).collect();
    assert!(rows.len() > 80);
    let mut wrong = Vec::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let [_, ours] = cells[..] else {
            panic!("two cells: {row}")
        };
        let ours = ours.trim();
        let mut named = ours.split('`').skip(1).step_by(2).peekable();
        if named.peek().is_none() && !ours.starts_with("none: ") {
            wrong.push(format!("a test or a reason: {row}"));
        }
        for name in named.filter(|name| !names.contains(*name)) {
            wrong.push(format!("there is no test `{name}`: {row}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
