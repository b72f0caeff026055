//! What `tests/SABOTAGE.md` names is there, and the patches apply. That the tests fail is what `replay` looks for.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

struct Row {
    patch: String,
    /// What stands after `cargo test`.
    arguments: Vec<String>,
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(top().join("tests/SABOTAGE.md")).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("| `"));
    let row = |line: &str| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").collect();
        let [patch, _, test, what] = cells[..] else {
            panic!("four cells: {line}")
        };
        assert!(!what.trim().is_empty(), "what it breaks: {line}");
        let code = |cell: &str| {
            let inner = cell.trim().strip_prefix('`')?.strip_suffix('`')?;
            Some(inner.to_owned())
        };
        let (Some(patch), Some(test)) = (code(patch), code(test)) else {
            panic!("a patch and a test in backquotes: {line}")
        };
        let arguments = test.split_whitespace().map(str::to_owned).collect();
        Row { patch, arguments }
    };
    lines.map(row).collect()
}

/// The patches, by name.
fn patches() -> BTreeMap<String, PathBuf> {
    let folder = fs::read_dir(top().join("tests/sabotage")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let patches = paths.filter(|path| path.extension().is_some_and(|is| is == "patch"));
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    patches.map(|path| (name(&path), path)).collect()
}

#[test]
fn each_row_has_its_patch_and_each_patch_a_row() {
    let named: BTreeSet<_> = rows().into_iter().map(|row| row.patch).collect();
    let there: BTreeSet<_> = patches().into_keys().collect();
    assert!(named.len() > 200);
    let missing: Vec<_> = named.difference(&there).collect();
    let unnamed: Vec<_> = there.difference(&named).collect();
    assert!(missing.is_empty(), "there are no patches {missing:?}");
    assert!(unnamed.is_empty(), "no row names the patches {unnamed:?}");
}

#[test]
fn each_patch_applies() {
    let mut stale = Vec::new();
    for (name, path) in patches() {
        let mut git = Command::new("git");
        git.arg("-C").arg(top()).args(["apply", "--check"]);
        let done = git.arg(path.canonicalize().unwrap()).output().unwrap();
        if !done.status.success() {
            stale.push(format!("{name}: {}", String::from_utf8_lossy(&done.stderr)));
        }
    }
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

#[test]
fn each_row_names_a_test_that_is_there() {
    let packages = packages();
    let mut missing = Vec::new();
    for row in rows() {
        let after = |option: &str| {
            let mut words = row.arguments.iter();
            words.find(|word| *word == option).and(words.next())
        };
        let package = after("-p").and_then(|name| packages.get(name));
        let package = package.unwrap_or_else(|| panic!("a package: {:?}", row.arguments));
        let roots = match after("--test") {
            Some(target) => {
                let folder = package.join("tests");
                let single = folder.join(format!("{target}.rs"));
                vec![single, folder.join(target)]
            }
            None => vec![package.join("src")],
        };
        let test = row.arguments.last().unwrap();
        if !roots.iter().any(|root| holds(root, "", test)) {
            missing.push(row.arguments.join(" "));
        }
    }
    assert!(missing.is_empty(), "no such tests:\n{}", missing.join("\n"));
}

/// The folders of the workspace's packages, by their names.
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

/// Whether the sources at `path`, which are the module `module`, have a function of the full name `test`.
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
    // The single file of a test target is its root.
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

/// Whether it is in a module of which this file says that it stands in another one.
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
