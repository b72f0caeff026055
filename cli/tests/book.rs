//! The page of the book shows the help as the tool prints it.
//!
//! After a change of the command line, run `UPDATE_BOOK=1 cargo test -p cargo-pilothouse --test book`.

use std::{env, fs, path::Path, process::Command};

#[test]
fn the_book_shows_the_help_of_each_subcommand() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/tool.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut expected = page.clone();
    for line in ["new", "add kind", "add webhook", "dev", "check"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
        command
            .arg("pilothouse")
            .args(line.split(' '))
            .arg("--help");
        let output = command.output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let begin = format!("$ cargo pilothouse {line} --help\n");
        let (before, rest) = expected.split_once(&begin).unwrap_or_else(|| {
            panic!("{} has no `{}`", path.display(), begin.trim());
        });
        let (_, after) = rest.split_once("```").unwrap();
        expected = format!("{before}{begin}{}\n```{after}", help.trim());
    }
    if env::var_os("UPDATE_BOOK").is_some() {
        fs::write(&path, &expected).unwrap();
        return;
    }
    assert_eq!(page, expected);
}
