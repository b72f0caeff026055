//! Checks that the page `troubleshooting.md` has an entry for each error of the framework, and no entry for an error that is gone. The section about the tool
//! has entries for some of its texts, and for one of Cargo.
//!
//! An entry is a `text` block with the text of the error. `…` stands for the parts that differ.

use std::{collections::BTreeSet, fs, path::Path};

use syn::{Attribute, Item, LitStr, Meta, Visibility};

use super::{page, top};

/// The text of an error as the page shows it, or `None` if the error has no words of its own.
fn pattern(format: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = format.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '{' | '}' if rest.peek() == Some(&next) => {
                rest.next();
                text.push(next);
            }
            '{' => {
                rest.by_ref().find(|end| *end == '}');
                text.push('…');
            }
            other => text.push(other),
        }
    }
    text.contains(char::is_alphabetic).then_some(text)
}

/// The pattern of `#[error("…")]`.
fn error_text(attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|one| one.path().is_ident("error"))?;
    let Meta::List(list) = &attribute.meta else {
        return None;
    };
    // The first argument is `transparent` or the format string.
    let first = list.tokens.clone().into_iter().next()?;
    let literal = syn::parse2::<LitStr>(first.into()).ok()?;
    pattern(&literal.value())
}

/// The patterns of the public error types of a source file.
fn error_texts(source: &str) -> BTreeSet<String> {
    let file = syn::parse_file(source).unwrap();
    let mut found = BTreeSet::new();
    for item in file.items {
        match item {
            Item::Enum(item) if matches!(item.vis, Visibility::Public(_)) => {
                let variants = item.variants.iter();
                found.extend(variants.filter_map(|variant| error_text(&variant.attrs)));
            }
            Item::Struct(item) if matches!(item.vis, Visibility::Public(_)) => {
                found.extend(error_text(&item.attrs));
            }
            _ => {}
        }
    }
    found
}

fn visit(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            // Reading a file as Rust takes much longer than this comparison.
            if source.contains("#[error(") {
                found.extend(error_texts(&source));
            }
        }
    }
}

/// The `text` blocks of a page.
fn entries(page: &str) -> BTreeSet<String> {
    let blocks = page.split("\n```text\n").skip(1);
    let texts = blocks.map(|block| block.split("\n```").next().unwrap());
    texts.map(str::to_owned).collect()
}

#[test]
fn each_error_of_the_framework_has_an_entry() {
    let mut errors = BTreeSet::new();
    visit(&top().join("framework/src"), &mut errors);
    let entries = entries(&without_tool().0);
    let missing: Vec<_> = errors.difference(&entries).collect();
    let stale: Vec<_> = entries.difference(&errors).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "troubleshooting.md needs a `text` block for each of {missing:#?}, and no error has the text of {stale:#?}"
    );
}

/// The page without the section about the tool, and that section.
fn without_tool() -> (String, String) {
    let page = page("troubleshooting.md");
    let (before, rest) = page.split_once("\n### The tool\n").unwrap();
    let (tool, after) = rest.split_once("\n### ").unwrap();
    (format!("{before}\n### {after}"), format!("\n{tool}"))
}

#[test]
fn each_entry_about_the_tool_is_a_text_of_the_tool_or_of_cargo() {
    let mut sources = "no matching package named `pilothouse` found\n".to_owned();
    let mut folders = vec![top().join("cli/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => sources += &fs::read_to_string(&path).unwrap(),
            }
        }
    }
    let entries = entries(&without_tool().1);
    assert!(!entries.is_empty());
    for entry in &entries {
        for part in entry.split('…') {
            assert!(sources.contains(part), "the tool does not say `{part}`");
        }
    }
}

#[test]
fn a_text_shows_what_differs_by_an_ellipsis() {
    let source = r#"
        pub enum Error {
            #[error("cannot read {}: {source}", .path.display())]
            Read,
            #[error("write {{}} here")]
            Braces,
            #[error("{what}: {advice}")]
            Wordless,
            #[error(transparent)]
            Other,
        }
        enum Private {
            #[error("hidden")]
            Hidden,
        }
        #[error("gone")]
        pub struct Gone;
    "#;
    let found = error_texts(source);
    let expected = ["cannot read …: …", "gone", "write {} here"];
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
}
