//! What the user reads after bad input: what is wrong, where, and what to do. Nothing is written then.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-pilothouse");

/// A package with these files.
fn package(folder: &Path, name: &str, files: &[(&str, &str)]) {
    let manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    for (path, text) in [
        ("Cargo.toml", &*manifest),
        ("src/lib.rs", ""),
        ("src/main.rs", "fn main() {}\n"),
    ]
    .iter()
    .chain(files)
    {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// All files and their bytes, to see that nothing was written.
fn files(folder: &Path, found: &mut Vec<(PathBuf, Option<Vec<u8>>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        }
        let bytes = fs::read(&path).ok();
        found.push((path, bytes));
    }
    found.sort();
}

#[test]
fn bad_input_gets_an_error_that_says_what_to_do_and_writes_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    let top = temporary.path().canonicalize().unwrap();
    let operator = "use pilothouse::prelude::*;\n\npub fn operator() -> Operator {\n    Operator::new(\"web\")\n}\n";
    package(
        &top.join("web"),
        "web",
        &[("src/lib.rs", operator), ("tests/task.rs", "// mine\n")],
    );
    package(
        &top.join("broken"),
        "broken",
        &[("src/lib.rs", "pub fn operator( {\n")],
    );
    package(&top.join("no-operator"), "no-operator", &[]);
    fs::remove_file(top.join("no-operator/src/lib.rs")).unwrap();
    package(&top.join("library"), "library", &[]);
    fs::remove_file(top.join("library/src/main.rs")).unwrap();
    let several = top.join("several");
    package(&several.join("a"), "a", &[]);
    package(&several.join("b"), "b", &[]);
    fs::write(
        several.join("Cargo.toml"),
        "[workspace]\nmembers = [\"a\", \"b\"]\n",
    )
    .unwrap();
    let odd = top.join("odd");
    fs::create_dir_all(&odd).unwrap();
    fs::write(odd.join("Cargo.toml"), "[workspace\n").unwrap();
    let listless = top.join("listless");
    fs::create_dir_all(&listless).unwrap();
    fs::write(listless.join("Cargo.toml"), "[workspace]\nmembers = 1\n").unwrap();
    fs::write(top.join("file"), "").unwrap();

    let mut before = Vec::new();
    files(&top, &mut before);
    let mut seen = String::new();
    for (folder, line) in [
        ("", ""),
        ("", "new"),
        ("", "new Website"),
        ("", "new my_site"),
        ("", "new 1st"),
        ("", "new site-"),
        ("", "new match"),
        ("", "new tokio"),
        ("", "new site --kind site"),
        ("", "new site --kind Web-Site"),
        ("", "new site --kind Context"),
        ("", "new operator"),
        ("", "new site --api-version v1"),
        ("", "new site --api-version demo/v1"),
        ("", "new site --api-version example.com/1"),
        ("", "new site --api-version apps.k8s.io/v1"),
        ("", "new web"),
        ("", "new site --path web"),
        ("", "new site --path file"),
        ("", "new site --path file/site"),
        ("", "new site --framework web"),
        ("", "new site --colour"),
        ("odd", "new site"),
        ("listless", "new site"),
        ("several", "new a --path c"),
        ("", "add kind Task"),
        ("", "add site"),
        ("web", "add kind task"),
        ("web", "add kind Task"),
        ("web", "add kind SerdeJson"),
        ("web", "add kind Other --api-version v1"),
        ("web", "add kind Other -p other"),
        ("broken", "add kind Task"),
        ("no-operator", "add kind Task"),
        ("several", "add kind Task"),
        ("", "dev"),
        ("library", "dev"),
        ("web", "dev --port 70000"),
    ] {
        let mut command = Command::new(PROGRAM);
        command.arg("pilothouse").args(line.split_whitespace());
        command
            .current_dir(top.join(folder))
            .env_remove("CARGO_TERM_COLOR");
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{line}");
        let said = String::from_utf8_lossy(&output.stderr).replace(top.to_str().unwrap(), "~");
        let place = Path::new("~").join(folder);
        writeln!(
            seen,
            "{}$ cargo pilothouse {line}\n{}\n",
            place.display(),
            said.trim_end()
        )
        .unwrap();
    }
    insta::assert_snapshot!(seen);
    let mut after = Vec::new();
    files(&top, &mut after);
    assert_eq!(before, after);
}
