//! Checks that each sabotage applies to the sources and that each test that it names exists. `replay` checks that the tests fail.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use pilothouse_sabotage::{Sabotage, paths};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sabotages() -> Vec<Sabotage> {
    let paths = paths(&top().join("tests/sabotage")).unwrap();
    let read = |path: &PathBuf| {
        Sabotage::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.iter().map(read).collect()
}

#[test]
fn each_sabotage_applies_and_has_a_test() {
    let mut stale = Vec::new();
    let sabotages = sabotages();
    assert!(sabotages.len() > 500);
    for sabotage in sabotages {
        if let Err(error) = sabotage.edited(&top()) {
            stale.push(format!("{}: {error}", sabotage.name));
        }
        if sabotage.rows.is_empty() {
            stale.push(format!("{}: it names no test", sabotage.name));
        }
    }
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

#[test]
fn each_sabotage_names_tests_that_exist() {
    let packages = packages();
    let mut missing = Vec::new();
    for (name, row) in sabotages().into_iter().flat_map(|sabotage| {
        let name = sabotage.name;
        sabotage
            .rows
            .into_iter()
            .map(move |row| (name.clone(), row))
    }) {
        let after = |option: &str| {
            let mut words = row.test.split_whitespace();
            words.find(|word| *word == option).and(words.next())
        };
        let package = after("-p").and_then(|name| packages.get(name));
        let package = package.unwrap_or_else(|| panic!("{name}: `{}` names no package", row.test));
        let roots = match after("--test") {
            Some(target) => {
                let folder = package.join("tests");
                let single = folder.join(format!("{target}.rs"));
                // The modules of a single file lie beside it.
                let modules = single.exists().then(|| folder.clone());
                let mut roots = vec![single, folder.join(target)];
                roots.extend(modules);
                roots
            }
            None => vec![package.join("src")],
        };
        let test = row.test.split_whitespace().next_back().unwrap_or_default();
        if !roots.iter().any(|root| holds(root, "", test)) {
            missing.push(format!("{name}: {}", row.test));
        }
    }
    assert!(missing.is_empty(), "no such tests:\n{}", missing.join("\n"));
}

/// Returns the folders of the workspace's packages by name.
fn packages() -> BTreeMap<String, PathBuf> {
    let quoted = |line: &str| -> Vec<String> {
        let parts = line.split('"').skip(1).step_by(2);
        parts.map(str::to_owned).collect()
    };
    let manifest = |folder: &Path| fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let workspace = manifest(&top());
    let members = workspace.lines().find(|line| line.starts_with("members"));
    let folders = quoted(members.unwrap()).into_iter();
    let folders = folders.map(|member| top().join(member));
    folders
        .map(|folder| {
            let text = manifest(&folder);
            let name = text.lines().find(|line| line.starts_with("name"));
            (quoted(name.unwrap()).remove(0), folder)
        })
        .collect()
}

/// Whether the sources of the module `module` at `path` contain a function with the full name `test`.
fn holds(path: &Path, module: &str, test: &str) -> bool {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy();
            let inner = match (path.is_dir(), &*name) {
                (false, "mod" | "lib" | "main") => module.to_owned(),
                _ => format!("{module}{name}::"),
            };
            test.starts_with(&inner) && holds(&path, &inner, test)
        });
    }
    let (true, Ok(text)) = (
        path.extension().is_some_and(|is| is == "rs"),
        fs::read_to_string(path),
    ) else {
        return false;
    };
    if elsewhere(path, &text, module, test) {
        return true;
    }
    // A test target with a single file has that file as its root.
    let rest = test.strip_prefix(module).unwrap_or_default();
    if is_row(&text, rest) || is_scenario(&text, rest) {
        return true;
    }
    let mut names: Vec<_> = rest.split("::").collect();
    let function = names.pop().unwrap_or_default();
    text.contains(&format!("fn {function}("))
        && names
            .iter()
            .all(|name| text.contains(&format!("mod {name} {{")))
}

/// Whether a macro of this file makes the test from a row of a table: `rows! { test => …; }`, for one protocol
/// `rows! { test: http2 => …; }`, or `child!(test, …)`.
fn is_row(text: &str, test: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let (table, child) = (text.contains("rows! {"), text.contains("child!("));
    let (name, protocol) = test.split_once("::").unwrap_or((test, ""));
    let both = format!("{name} =>");
    let one = format!("{name}: http");
    lines.any(|line| match protocol {
        "" => table && line.starts_with(&one) || child && line == format!("{name},"),
        "http1" | "http2" => table && line.starts_with(&both),
        _ => false,
    })
}

/// Whether a macro of this file makes the test `sandbox::module::scenario` from `scenarios! { module: [scenario, …] }`.
fn is_scenario(text: &str, test: &str) -> bool {
    let Some((module, name)) = test
        .strip_prefix("sandbox::")
        .and_then(|rest| rest.split_once("::"))
    else {
        return false;
    };
    let lists = text
        .split_once("scenarios! {")
        .map_or("", |(_, lists)| lists);
    let list = lists
        .split_once(&format!(" {module}: ["))
        .map_or("", |(_, list)| list);
    let list = list.split_once(']').map_or("", |(list, _)| list);
    list.lines().any(|line| line.trim() == format!("{name},"))
}

/// Whether the test is in a module that this file declares with a path to another file.
fn elsewhere(path: &Path, text: &str, module: &str, test: &str) -> bool {
    text.split("#[path = \"").skip(1).any(|after| {
        let mut parts = after.split(['"', ';']);
        let (file, declared) = (parts.next(), parts.next());
        let name = declared.and_then(|declared| declared.split("mod ").nth(1));
        let (Some(file), Some(name)) = (file, name) else {
            return false;
        };
        let inner = format!("{module}{name}::");
        test.starts_with(&inner) && holds(&path.with_file_name(file), &inner, test)
    })
}
