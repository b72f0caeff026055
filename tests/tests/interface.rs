//! The public interface of the published crates is kept in `tests/interface/`, so that each change of it shows in review.

use std::{collections::BTreeMap, env, fs, path::Path};

use pilothouse_tests::{interface::public_interface, layers::read_sources};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Compares the interface of a crate with its file. With `UPDATE_INTERFACE` set, it writes the file.
fn compare(krate: &str, folder: &str) {
    let sources = read_sources(&repository().join(folder).join("src")).unwrap();
    let found = public_interface(&krate.replace('-', "_"), &sources).unwrap();
    let file = repository()
        .join("tests/interface")
        .join(format!("{krate}.txt"));
    if env::var_os("UPDATE_INTERFACE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, found.join("\n") + "\n").unwrap();
        return;
    }
    let kept = fs::read_to_string(&file).unwrap();
    let kept: Vec<&str> = kept.lines().collect();
    let new = found
        .iter()
        .filter(|line| !kept.contains(&line.as_str()))
        .map(|line| format!("+ {line}"));
    let gone = kept
        .iter()
        .filter(|line| !found.iter().any(|one| one == *line))
        .map(|line| format!("- {line}"));
    let changes: Vec<String> = gone.chain(new).collect();
    assert!(
        changes.is_empty(),
        "the public interface of {krate} has changed:\n{}\nIf that is on purpose, run `UPDATE_INTERFACE=1 cargo test -p pilothouse-tests --test repository interface` and commit {}",
        changes.join("\n"),
        file.display()
    );
}

#[test]
fn the_interface_of_the_framework_is_as_recorded() {
    compare("pilothouse", "framework");
}

#[test]
fn the_interface_of_the_sandbox_is_as_recorded() {
    compare("pilothouse-sandbox", "sandbox");
}

fn interface(files: &[(&str, &str)]) -> Vec<String> {
    let sources: BTreeMap<String, String> = files
        .iter()
        .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()))
        .collect();
    public_interface("demo", &sources).unwrap()
}

#[test]
fn every_form_of_item_is_listed_by_its_shortest_public_path() {
    let found = interface(&[
        ("lib.rs", "mod inner; pub mod shown; pub use inner::{Thing, deep::*}; pub use other::Foreign as Renamed; fn private() {}"),
        (
            "inner/mod.rs",
            "pub mod deep; pub struct Thing<T> { pub open: Vec<T>, closed: u8 }
             impl<T> Thing<T> { pub fn new(value: &str) -> Self {} fn secret(&self) {} #[doc(hidden)] pub fn internal(&self) {} }
             impl<T: Clone> Clone for Thing<T> {} #[cfg(test)] mod tests { pub fn no() {} }",
        ),
        ("inner/deep.rs", "use super::Thing; #[derive(Debug)] #[non_exhaustive] pub enum Kind { One, Two(u8) } impl Thing<u8> { pub fn more(self) -> Option<Self> {} } pub(crate) struct No;"),
        ("shown.rs", "pub use crate::inner::Thing; pub trait Works: Send { type Out; fn run(&mut self) -> Self::Out; fn twice(&self) {} } pub const LIMIT: usize = 3;"),
    ]);
    assert_eq!(
        found,
        [
            "demo::Kind #[non_exhaustive] enum",
            "demo::Kind derive Debug",
            "demo::Kind::One",
            "demo::Kind::Two",
            "demo::Kind::Two.0: u8",
            "demo::Renamed = use other::Foreign",
            "demo::Thing impl<T: Clone> Clone for Thing<T>",
            "demo::Thing struct<T>",
            "demo::Thing.open: Vec<T>",
            "demo::Thing::more fn more(self) -> Option<Self> [impl Thing<u8>]",
            "demo::Thing::new fn new(value: &str) -> Self",
            "demo::shown mod",
            "demo::shown::LIMIT const: usize",
            "demo::shown::Thing = use demo::Thing",
            "demo::shown::Works trait: Send",
            "demo::shown::Works::Out type:",
            "demo::shown::Works::run fn run(&mut self) -> Self::Out",
            "demo::shown::Works::twice fn twice(&self) {}",
        ]
    );
}

/// The program on the first page of `pilothouse`'s documentation is that of `examples/website`.
#[test]
fn the_program_on_the_front_page_is_the_example() {
    let code = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim);
        let is_code = |line: &&str| {
            let is_left_out = [".version(", ".example("]
                .iter()
                .any(|call| line.starts_with(call));
            !line.is_empty() && !line.starts_with("//") && !is_left_out
        };
        let code: String = lines.filter(is_code).collect::<Vec<_>>().join(" ");
        code.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let example = fs::read_to_string(repository().join("examples/website/src/main.rs")).unwrap();
    let page = fs::read_to_string(repository().join("framework/src/lib.rs")).unwrap();
    let mut blocks = page.split("//! ```").skip(1).step_by(2);
    let block = blocks.find(|block| block.contains("fn main"));
    let block = block.unwrap_or_default();
    let block: String = block
        .lines()
        .skip(1)
        .map(|line| format!("{}\n", line.trim_start_matches("//!")))
        .collect();
    let joined = |text: &str| code(text).concat();
    assert_eq!(joined(&block), joined(&example));
}
