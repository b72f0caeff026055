//! The pages of the book show the help as the tool prints it.
//!
//! After a change of the command line, run `UPDATE_BOOK=1 cargo test -p cargo-pilothouse --test book`.

use std::{env, fs, path::Path, process::Command};

/// What the tool prints as the help of a subcommand.
fn help(line: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-pilothouse"));
    command
        .arg("pilothouse")
        .args(line.split_whitespace())
        .arg("--help");
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The subcommands that a help text lists.
fn subcommands(help: &str) -> Vec<String> {
    let rest = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    let lines = rest.lines().take_while(|line| line.starts_with(' '));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn the_reference_has_the_help_of_each_subcommand() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/reference/cargo-pilothouse.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut lines = vec![String::new()];
    let mut text = String::new();
    // The list grows while it is read: a subcommand may have subcommands.
    let mut next = 0;
    while let Some(line) = lines.get(next).cloned() {
        let help = help(&line);
        let below = subcommands(&help);
        let title = format!("cargo pilothouse {line}");
        text += &format!("## {}\n\n```text\n{}\n```\n\n", title.trim(), help.trim());
        let below = below
            .iter()
            .map(|name| format!("{line} {name}").trim().to_owned());
        lines.extend(below);
        next += 1;
    }
    assert!(lines.iter().any(|line| line == "add kind"), "{lines:?}");
    let (begin, end) = ("<!-- begin help -->\n", "<!-- end help -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let expected = format!("{before}{begin}\n{}\n\n{end}{after}", text.trim());
    if env::var_os("UPDATE_BOOK").is_some() {
        fs::write(&path, &expected).unwrap();
        return;
    }
    assert_eq!(page, expected);
}

#[test]
fn the_book_shows_the_help_of_each_subcommand() {
    let of_tool = [
        "new",
        "add kind",
        "add webhook",
        "add version",
        "import",
        "dev",
        "check",
    ];
    shows_help("tool.md", &of_tool);
    shows_help("foreign-kinds.md", &["import"]);
}

fn shows_help(page: &str, lines: &[&str]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../book/src")
        .join(page);
    let page = fs::read_to_string(&path).unwrap();
    let mut expected = page.clone();
    for line in lines {
        let help = help(line);
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
