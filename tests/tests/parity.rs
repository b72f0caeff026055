//! What `tests/PARITY.md` says of tests that there are.

use std::{collections::BTreeSet, fs, path::Path};

/// Puts the names of the functions in the Rust sources below `folder` into `names`.
fn functions(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            for after in source.split("fn ").skip(1) {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                names.insert(after[..end.unwrap_or(after.len())].to_owned());
            }
        }
    }
}

#[test]
fn every_test_of_client_go_has_one_of_ours_or_a_reason() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = BTreeSet::new();
    for folder in ["tests", "model/src", "../framework/src"] {
        functions(&top.join(folder), &mut names);
    }
    let parity = fs::read_to_string(top.join("PARITY.md")).unwrap();
    let rows = parity
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| client-go"));
    let rows: Vec<_> = rows.filter(|line| !line.starts_with("| ---")).collect();
    assert!(rows.len() > 80);
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let [_, ours] = cells[..] else {
            panic!("two cells: {row}")
        };
        let ours = ours.trim();
        let mut named = ours.split('`').skip(1).step_by(2).peekable();
        assert!(
            named.peek().is_some() || ours.starts_with("none: "),
            "a test or a reason: {row}"
        );
        for name in named {
            assert!(names.contains(name), "there is no test `{name}`: {row}");
        }
    }
}
