//! What `import` and `add version` write: it is kept in the folder `kept`, and compiled and used here.
//!
//! After a change, run `UPDATE_CREATED=1 cargo test -p cargo-pilothouse --test sources`, and read what has changed.

mod add_version;
mod import;
mod kept;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The folder with what the tool reads and what it writes.
fn kept(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sources/kept")
        .join(path)
}

fn cargo_pilothouse(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
    command.arg("pilothouse").args(line.split_whitespace());
    command.current_dir(folder).env_remove("CARGO_TERM_COLOR");
    command.output().unwrap()
}

/// What the tool printed; it has to succeed.
fn stdout(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The error of the tool, which has to fail.
fn stderr(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A package with these files.
fn package(files: &[(&str, &str)]) -> tempfile::TempDir {
    let temporary = tempfile::tempdir().unwrap();
    let manifest =
        "[package]\nname = \"shelves\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n";
    for (path, text) in [("Cargo.toml", manifest)].iter().chain(files) {
        let path = temporary.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    temporary
}

/// Compares a text with a file that is kept.
fn is_kept(text: &str, path: &str) {
    let path = kept(path);
    if env::var_os("UPDATE_CREATED").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert_eq!(text, expected, "{}", path.display());
}
