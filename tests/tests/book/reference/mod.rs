//! The tables of the book's part "Reference", which come from the sources and from the programs.
//!
//! A page has a place for each table: a comment `<!-- begin NAME -->` and a comment `<!-- end NAME -->`. After a change, run
//! `UPDATE_BOOK=1 cargo test -p pilothouse-tests --test repository reference`.

mod attributes;
mod exit_codes;
mod metrics;
mod settings;

use std::{env, fs};

use super::top;

/// The text of a source file.
fn source(path: &str) -> String {
    let path = top().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A page with `table` at the place `name`.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (
        format!("<!-- begin {name} -->\n"),
        format!("<!-- end {name} -->"),
    );
    let (before, rest) = page
        .split_once(&begin)
        .unwrap_or_else(|| panic!("the page has no `{}`", begin.trim()));
    let (_, after) = rest
        .split_once(&end)
        .unwrap_or_else(|| panic!("the page has no `{end}`"));
    format!("{before}{begin}\n{}\n\n{end}{after}", table.trim())
}

/// Compares the tables of a page with what they should be, or writes them.
fn compare(page: &str, tables: &[(&str, String)]) {
    let path = top().join("book/src/reference").join(page);
    let found = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
    let expected = tables.iter().fold(found.clone(), |page, (name, table)| {
        with_table(&page, name, table)
    });
    if env::var_os("UPDATE_BOOK").is_some() {
        fs::write(&path, &expected).unwrap();
        return;
    }
    assert!(
        found == expected,
        "{page} is not up to date: run `UPDATE_BOOK=1 cargo test -p pilothouse-tests --test repository reference`. It should be:\n{expected}"
    );
}

/// A row of a table.
fn row(cells: &[&str]) -> String {
    let cells = cells.iter().map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

#[test]
fn a_table_is_written_between_its_comments() {
    let page = "# A\n<!-- begin a -->\nold\n<!-- end a -->\nrest\n";
    let new = with_table(page, "a", "| a |\n");
    assert_eq!(
        new,
        "# A\n<!-- begin a -->\n\n| a |\n\n<!-- end a -->\nrest\n"
    );
    assert_eq!(with_table(&new, "a", "| a |"), new);
}
