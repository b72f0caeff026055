//! Checks of the book: each error has an entry, each link leads somewhere, each concept has a picture, the pages of "Moving here" show whole programs, each command exists, a browser shows each page, and the tables of the reference are those of the programs.

use std::{
    fs,
    path::{Path, PathBuf},
};

mod browser;
mod commands;
mod errors;
mod links;
mod moving;
mod pictures;
mod recipes;
mod reference;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of a page.
fn page(name: &str) -> String {
    let path = top().join("book/src").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
