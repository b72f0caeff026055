//! What `tests/PARITY.md` and `tests/SABOTAGE.md` say of tests that there are.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// A test, and the file it stands in.
struct Test {
    file: PathBuf,
    name: String,
}

/// Puts the tests in the Rust sources below `folder`, or in the file that it is, into `all`.
fn tests(folder: &Path, all: &mut Vec<Test>) {
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
                let name = after[..end.unwrap_or(after.len())].to_owned();
                let file = folder.to_owned();
                all.push(Test { file, name });
            }
        }
    }
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_test_of_client_go_has_one_of_ours_or_a_reason() {
    let mut all = Vec::new();
    for folder in ["tests", "model/src", "../framework/src"] {
        tests(&top().join(folder), &mut all);
    }
    let mut names: BTreeSet<_> = all.into_iter().map(|test| test.name).collect();
    // What is gone through with each server is listed there, by name.
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

/// Where the sources of a target are, by the words that choose it for cargo.
fn sources(words: &[&str]) -> PathBuf {
    let after = |flag: &str| {
        let at = words.iter().position(|word| *word == flag);
        at.and_then(|at| words.get(at + 1)).copied()
    };
    let package = match after("-p").expect("a package") {
        "pilothouse" => "../framework".into(),
        "pilothouse-sandbox" => "../sandbox".into(),
        "pilothouse-macros" => "../macros".into(),
        "pilothouse-bench" => "../bench".into(),
        "pilothouse-model" => "model".into(),
        "pilothouse-tests" => ".".into(),
        example => format!("../examples/{example}"),
    };
    let package = top().join(package);
    let Some(target) = after("--test") else {
        return package.join("src");
    };
    let folder = package.join("tests").join(target);
    match folder.is_dir() {
        true => folder,
        false => folder.with_extension("rs"),
    }
}

/// Whether a test of `file` is in these modules, `file` being one of those below `sources`.
fn is_in(modules: &[&str], file: &Path, sources: &Path) -> bool {
    let below = file.strip_prefix(sources).unwrap().with_extension("");
    // The tests of `a.rs` are in `a/tests.rs`, in it, or in `a_tests.rs`.
    let below = below.to_str().unwrap().replace("_tests", "/tests");
    let parts = below.split('/');
    let parts: Vec<_> = parts
        .filter(|part| !matches!(*part, "mod" | "main" | "lib" | ""))
        .collect();
    let Some(inner) = modules.strip_prefix(&*parts) else {
        return false;
    };
    let source = fs::read_to_string(file).unwrap();
    let stands = |module: &&str| source.contains(&format!("mod {module} {{"));
    inner.iter().all(stands)
}

#[test]
fn every_sabotage_names_a_patch_and_a_test_that_there_are_and_none_is_left_out() {
    let list = fs::read_to_string(top().join("SABOTAGE.md")).unwrap();
    let rows = list.lines().filter(|line| line.starts_with("| `"));
    let (mut wrong, mut named) = (Vec::new(), BTreeSet::new());
    let mut known = BTreeMap::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let [patch, _, test, _] = cells[..] else {
            panic!("four cells: {row}")
        };
        let patch = patch.trim().trim_matches('`');
        named.insert(format!("{patch}.patch"));
        let words: Vec<_> = test.trim().trim_matches('`').split(' ').collect();
        let path: Vec<_> = words[words.len() - 1].split("::").collect();
        let (name, modules) = path.split_last().unwrap();
        let sources = sources(&words);
        let all = known.entry(sources.clone()).or_insert_with(|| {
            let mut all = Vec::new();
            tests(&sources, &mut all);
            all
        });
        let is_it = |test: &Test| test.name == *name && is_in(modules, &test.file, &sources);
        if !all.iter().any(is_it) {
            wrong.push(format!("there is no such test: {row}"));
        }
    }
    assert!(named.len() > 250);
    let patches = fs::read_dir(top().join("sabotage")).unwrap();
    let patches = patches.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let patches: BTreeSet<_> = patches.filter(|name| name.ends_with(".patch")).collect();
    let differ = patches.symmetric_difference(&named);
    wrong.extend(differ.map(|patch| format!("a patch and a row, not one of them: {patch}")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
