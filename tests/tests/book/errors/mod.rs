//! Checks that the page `troubleshooting.md` has an entry for each error of the framework, and no entry for an error that is gone. The section about the tool
//! has entries for some of its texts, and for one of Cargo.
//!
//! An entry is a `text` block with the text of the error. `…` stands for the parts that differ.
//!
//! An error is a type that implements `std::error::Error`, and that other modules see. Its texts are those of `#[error("…")]`, or of a `Display` that is
//! written by hand (`display.rs`).

mod display;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use syn::{Attribute, ImplItem, Item, ItemImpl, LitStr, Meta, Type, Visibility};

use self::display::{pattern, written};
use super::{page, top};

/// Types that are no errors themselves, but whose texts are those of an error.
const PARTS: [&str; 3] = ["ErrorKind", "ConnectProblem", "ProxyProblem"];

/// Errors without words of their own, and the section of the page about what they say.
const WORDLESS: [(&str, &str); 4] = [
    ("ConfigError", "The configuration of the client"),
    ("CrdError", "Definitions of kinds"),
    ("Denied", "Webhooks"),
    // That of the client.
    ("Error", "Requests to the API server"),
];

/// Errors that other errors take apart, so that nobody sees their texts.
const INNER: [&str; 1] = ["YamlError"];

/// The texts of the errors of some sources.
#[derive(Default)]
struct Found {
    texts: BTreeSet<String>,
    /// The errors that have no words of their own.
    wordless: BTreeSet<String>,
    parts: BTreeSet<String>,
    /// The errors whose texts cannot be read, and why.
    unread: Vec<String>,
}

impl Found {
    /// Adds the texts of an error as the page shows them.
    fn add(&mut self, name: &str, texts: impl IntoIterator<Item = String>) {
        let has_words = |text: &String| text.contains(char::is_alphabetic);
        let worded: Vec<_> = texts.into_iter().filter(has_words).collect();
        if worded.is_empty() {
            self.wordless.insert(name.to_owned());
        }
        self.texts.extend(worded);
    }
}

/// The text of `#[error("…")]`. Empty for `#[error(transparent)]`, and an error for what is not known.
fn error_text(attributes: &[Attribute]) -> Option<Result<String, String>> {
    let attribute = attributes.iter().find(|one| one.path().is_ident("error"))?;
    let Meta::List(list) = &attribute.meta else {
        return Some(Err("its attribute `error` has no text".into()));
    };
    let first = list.tokens.clone().into_iter().next();
    let literal = first
        .clone()
        .map(|token| syn::parse2::<LitStr>(token.into()));
    Some(match literal {
        Some(Ok(literal)) => Ok(pattern(&literal.value())),
        _ if first.is_some_and(|token| token.to_string() == "transparent") => Ok(String::new()),
        _ => Err("its attribute `error` has no text".into()),
    })
}

fn is_seen(visibility: &Visibility) -> bool {
    match visibility {
        Visibility::Public(_) => true,
        Visibility::Restricted(to) => to.path.is_ident("crate"),
        Visibility::Inherited => false,
    }
}

/// Whether the type derives the trait of thiserror.
fn derives_error(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("derive") => {
            let derived = list.tokens.to_string();
            let mut derived = derived.split(',');
            derived.any(|one| {
                one.rsplit(':')
                    .next()
                    .is_some_and(|name| name.trim() == "Error")
            })
        }
        _ => false,
    })
}

/// The names of the trait of an `impl` and of its type.
fn implemented(item: &ItemImpl) -> Option<(String, String)> {
    let (path, _) = item.trait_.as_ref()?;
    let names: Vec<_> = path
        .segments
        .iter()
        .map(|one| one.ident.to_string())
        .collect();
    let Type::Path(of) = &*item.self_ty else {
        return None;
    };
    let of = of.path.segments.last()?.ident.to_string();
    Some((names.join("::"), of))
}

/// Adds the errors of a source file.
fn read(source: &str, found: &mut Found) {
    let file = syn::parse_file(source).unwrap();
    let mut errors = BTreeSet::new();
    let mut displays = BTreeMap::new();
    for item in &file.items {
        match item {
            Item::Impl(item) => match implemented(item) {
                Some((of_trait, name)) if of_trait.ends_with("Display") => {
                    displays.insert(name, item);
                }
                // Not the traits of serde.
                Some((of_trait, name))
                    if ["Error", "StdError", "error::Error", "std::error::Error"]
                        .contains(&&*of_trait) =>
                {
                    errors.insert(name);
                }
                _ => {}
            },
            Item::Enum(item) if derives_error(&item.attrs) => {
                errors.insert(item.ident.to_string());
            }
            Item::Struct(item) if derives_error(&item.attrs) => {
                errors.insert(item.ident.to_string());
            }
            Item::Macro(item) => {
                let tokens = item.mac.tokens.to_string();
                if tokens.contains("thiserror") || tokens.contains("Error for") {
                    found.unread.push("an error that a macro makes".into());
                }
            }
            _ => {}
        }
    }
    for item in &file.items {
        let (name, visibility, attributes) = match item {
            Item::Enum(item) => {
                let variants = item.variants.iter().map(|variant| &variant.attrs);
                let all: Vec<_> = [&item.attrs].into_iter().chain(variants).collect();
                (item.ident.to_string(), &item.vis, all)
            }
            Item::Struct(item) => (item.ident.to_string(), &item.vis, vec![&item.attrs]),
            _ => continue,
        };
        let is_part = PARTS.contains(&&*name);
        let is_error = errors.contains(&name) && !INNER.contains(&&*name);
        if !is_seen(visibility) || !(is_part || is_error) {
            continue;
        }
        if is_part {
            found.parts.insert(name.clone());
        }
        let attributes: Vec<_> = attributes
            .iter()
            .filter_map(|one| error_text(one))
            .collect();
        let texts = match (attributes.is_empty(), displays.get(&name)) {
            (false, _) => attributes.into_iter().collect::<Result<BTreeSet<_>, _>>(),
            (true, Some(display)) => {
                let mut functions = display.items.iter().filter_map(|item| match item {
                    ImplItem::Fn(function) => Some(function),
                    _ => None,
                });
                written(&functions.next().unwrap().block)
            }
            (true, None) => Err("neither `#[error(…)]` nor `Display` stands in its file".into()),
        };
        match texts {
            Ok(texts) => found.add(&name, texts),
            Err(reason) => found.unread.push(format!("`{name}`: {reason}")),
        }
    }
}

fn visit(folder: &Path, found: &mut Found) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            // Reading a file as Rust takes much longer than this comparison.
            let is_part = |name| source.contains(&format!("Display for {name} "));
            if ["Error for ", "#[error(", "Error)]"]
                .iter()
                .any(|text| source.contains(text))
                || PARTS.into_iter().any(is_part)
            {
                read(&source, found);
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
    let mut found = Found::default();
    visit(&top().join("framework/src"), &mut found);
    assert_eq!(
        found.unread, [""; 0],
        "the texts of these errors cannot be read"
    );
    assert_eq!(found.parts, PARTS.map(str::to_owned).into());
    let entries = entries(&without_tool().0);
    let missing: Vec<_> = found.texts.difference(&entries).collect();
    let stale: Vec<_> = entries.difference(&found.texts).collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "troubleshooting.md needs a `text` block for each of {missing:#?}, and no error has the text of {stale:#?}"
    );
}

#[test]
fn each_error_without_words_of_its_own_has_a_section() {
    let mut found = Found::default();
    visit(&top().join("framework/src"), &mut found);
    let wordless = WORDLESS.map(|(name, _)| name.to_owned());
    assert_eq!(found.wordless, wordless.into());
    let page = page("troubleshooting.md");
    for (name, section) in WORDLESS {
        let heading = format!("\n### {section}\n");
        assert!(page.contains(&heading), "{name}: no section `{section}`");
    }
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
        #[derive(thiserror::Error)]
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
        #[derive(thiserror::Error)]
        enum Private {
            #[error("hidden")]
            Hidden,
        }
        #[derive(Debug, thiserror::Error)]
        #[error("gone")]
        pub(crate) struct Gone;
        #[derive(Debug, thiserror::Error)]
        #[error("{text}")]
        pub struct Free;
    "#;
    let mut found = Found::default();
    read(source, &mut found);
    let expected = ["cannot read …: …", "gone", "write {} here"];
    assert_eq!(found.texts, expected.map(str::to_owned).into());
    assert_eq!(found.wordless, ["Free".to_owned()].into());
    assert_eq!(found.unread, [""; 0]);
}

#[test]
fn the_texts_of_a_display_that_is_written_by_hand_are_found() {
    let source = r#"
        pub enum Hand { A, B, C }
        impl fmt::Display for Hand {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let shown = self.shown();
                match self {
                    Self::A => write!(f, "first {shown}"),
                    Self::B => f.write_str("second"),
                    Self::C => {
                        f.write_str("third ")?;
                        if let Some(more) = &self.more {
                            write!(f, "of {more} ")?;
                        }
                        for one in &self.all {
                            write!(f, "{one}, ")?;
                        }
                        f.write_str(match self.end { 1 => "is", _ => "are" })?;
                        write!(f, " left: {}", self.reason)
                    }
                    Self::D => self.other.fmt(f),
                    Self::E => f.write_str(if self.is() { "one" } else { "two" }),
                }
            }
        }
        impl std::error::Error for Hand {}
        impl serde::de::Error for Serde {}
        pub struct Serde;
    "#;
    let mut found = Found::default();
    read(source, &mut found);
    let expected = ["first …", "one", "second", "third … left: …", "two"];
    assert_eq!(found.texts, expected.map(str::to_owned).into());
    assert_eq!(found.unread, [""; 0]);
}

#[test]
fn an_error_whose_texts_cannot_be_read_is_found() {
    for (source, expected) in [
        (
            "pub struct Far; impl std::error::Error for Far {}",
            "`Far`: neither",
        ),
        (
            "pub struct Odd; impl StdError for Odd {} impl fmt::Display for Odd { fn fmt(&self, f: &mut F) -> R { f.pad(&self.0) } }",
            "`Odd`: the test does not understand",
        ),
        (
            "#[derive(thiserror::Error)] #[error(fmt = shown)] pub struct Own;",
            "`Own`: its attribute",
        ),
        (
            "macro_rules! error { ($name:ident) => { impl std::error::Error for $name {} }; }",
            "an error that a macro makes",
        ),
    ] {
        let mut found = Found::default();
        read(source, &mut found);
        let unread = found.unread.join("\n");
        assert!(unread.starts_with(expected), "{source}: {unread}");
    }
}
