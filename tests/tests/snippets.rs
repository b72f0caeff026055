//! Checks that every Rust snippet of the book and of `README.md` is compiled.
//!
//! A snippet is compiled if it is included from a source file of a workspace member or of a package of its own, or if each of its paragraphs stands in
//! such a file or in the documentation of the framework's front page, which is a test.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A Rust snippet of a page.
#[derive(Debug)]
struct Snippet {
    /// The line of the page on which it begins, counted from 1.
    line: usize,
    text: String,
}

/// The Rust snippets of a page.
fn snippets(page: &str) -> Vec<Snippet> {
    let mut found = Vec::new();
    let mut open: Option<(bool, Snippet)> = None;
    for (number, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, &mut open) {
            (Some(language), None) => {
                let is_rust = language.split(',').next() == Some("rust");
                let text = String::new();
                open = Some((
                    is_rust,
                    Snippet {
                        line: number + 1,
                        text,
                    },
                ));
            }
            (Some(_), Some(_)) => {
                found.extend(
                    open.take()
                        .filter(|(is_rust, _)| *is_rust)
                        .map(|(_, one)| one),
                );
            }
            (None, Some((_, snippet))) => snippet.text.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a code block has no end");
    found
}

/// Whether Cargo compiles a source file of a workspace member: it is the root of a target, or another such file has it as a
/// module.
fn is_compiled(file: &Path) -> bool {
    let (Some(stem), Some(folder)) = (file.file_stem(), file.parent()) else {
        return false;
    };
    let stem = stem.to_string_lossy();
    if !file.is_file() || file.extension().is_none_or(|extension| extension != "rs") {
        return false;
    }
    let above = folder.parent().unwrap_or(folder);
    let is_package = |folder: &Path| folder.join("Cargo.toml").is_file();
    let manifest = fs::read_to_string(above.join("Cargo.toml")).unwrap_or_default();
    let is_root = is_package(above)
        && match folder.file_name().and_then(|name| name.to_str()) {
            Some("src") => stem == "main" || stem == "lib",
            Some("tests") => {
                let declared = format!("path = \"tests/{stem}.rs\"");
                manifest.contains(&declared) || !manifest.contains("autotests = false")
            }
            _ => false,
        };
    let is_program = folder.ends_with("src/bin") && above.parent().is_some_and(is_package);
    // `tests/a/main.rs` is the root of the test `a`.
    let package = above.parent().unwrap_or(above);
    let is_test = stem == "main"
        && above.file_name().is_some_and(|name| name == "tests")
        && is_package(package)
        && fs::read_to_string(package.join("Cargo.toml")).is_ok_and(|manifest| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            manifest.contains(&format!("path = \"tests/{name}/main.rs\""))
                || !manifest.contains("autotests = false")
        });
    if is_root || is_program || is_test {
        return true;
    }
    // `a/mod.rs` is the module `a` of the folder above.
    let (module, folder) = match stem.as_ref() {
        "mod" => (
            folder.file_name().unwrap_or_default().to_string_lossy(),
            above,
        ),
        _ => (stem, folder),
    };
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    let beside = entries.map(|entry| entry.unwrap().path());
    let parent = folder.with_extension("rs");
    beside.chain([parent]).any(|parent| {
        parent != file
            && declares(&fs::read_to_string(&parent).unwrap_or_default(), &module)
            && is_compiled(&parent)
    })
}

fn declares(source: &str, module: &str) -> bool {
    let declaration = format!("mod {module};");
    source.lines().any(|line| {
        let line = line
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ");
        line == declaration
    })
}

/// Whether `first:last` are the lines of whole items of a source. Sources that a program writes have no anchors.
fn are_items(source: &str, range: &str) -> bool {
    let lines: Vec<&str> = source.lines().collect();
    let line = |number: usize| lines.get(number.wrapping_sub(1)).copied();
    let Some((Ok(first), Ok(last))) = range
        .split_once(':')
        .map(|(first, last)| (first.parse::<usize>(), last.parse::<usize>()))
    else {
        return false;
    };
    first > 1
        && line(first - 1) == Some("")
        && line(first).is_some_and(|line| !line.is_empty())
        && line(last) == Some("}")
}

/// The text of an include of mdBook, `{{#include path:anchor}}`: path and anchor, or the lines `first:last` in its place.
fn include(text: &str) -> Option<(&str, Option<&str>)> {
    let inner = text
        .trim()
        .strip_prefix("{{#include ")?
        .strip_suffix("}}")?;
    match inner.split_once(':') {
        Some((path, anchor)) => Some((path, Some(anchor))),
        None => Some((inner, None)),
    }
}

/// Returns why a snippet is not compiled, or `None`.
fn fault(page: &Path, snippet: &Snippet, sources: &[String]) -> Option<String> {
    let lines: Vec<&str> = snippet
        .text
        .lines()
        .filter(|line| !line.is_empty())
        .collect();
    if lines.iter().any(|line| line.contains("{{#")) {
        return lines.iter().find_map(|line| {
            let Some((path, anchor)) = include(line) else {
                return Some(format!(
                    "`{line}` is not an include of a whole file, of an anchor or of whole items"
                ));
            };
            let file = page.parent()?.join(path);
            if !is_compiled(&file) {
                return Some(format!("no workspace member compiles {path}"));
            }
            let source = fs::read_to_string(&file).unwrap_or_default();
            let anchor = anchor?;
            let is_there = source
                .lines()
                .any(|line| line.trim() == format!("// ANCHOR: {anchor}"));
            (!is_there && !are_items(&source, anchor)).then(|| {
                format!(
                    "{path} has no anchor `{anchor}`, and these are not the lines of whole items"
                )
            })
        });
    }
    snippet.text.split("\n\n").map(str::trim_end).find_map(|paragraph| {
        let is_somewhere = sources.iter().any(|source| source.contains(paragraph));
        (!is_somewhere).then(|| {
            let first = paragraph.trim_start().lines().next().unwrap_or_default();
            format!("no compiled source has the paragraph that begins with `{first}`: include the snippet from one")
        })
    })
}

/// The compiled sources that an excerpt may be of.
fn sources() -> Vec<String> {
    let read = |file: &str| fs::read_to_string(top().join(file)).unwrap();
    let front = read("framework/src/lib.rs");
    let documented: String = front
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
        .collect();
    let tested: Vec<&str> = documented
        .split("```no_run\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!tested.is_empty());
    vec![tested.concat(), read("examples/website/src/main.rs")]
}

/// The pages of a folder and of those below it, but not those of the tutorial: a program writes and builds its listings.
fn pages_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let pages = paths.flat_map(|path| match path.extension() {
        Some(extension) if extension == "md" => vec![path],
        _ if path.is_dir() && !path.ends_with("tutorial") => pages_of(&path),
        _ => Vec::new(),
    });
    pages.collect()
}

fn pages() -> Vec<PathBuf> {
    let mut pages = pages_of(&top().join("book/src"));
    pages.push(top().join("README.md"));
    pages.sort();
    pages
}

#[test]
fn every_rust_snippet_of_the_book_and_of_the_readme_is_compiled() {
    let sources = sources();
    let (mut faults, mut count) = (Vec::new(), 0);
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for snippet in snippets(&text) {
            count += 1;
            if let Some(fault) = fault(&page, &snippet, &sources) {
                let name = page.strip_prefix(top()).unwrap_or(&page).display();
                faults.push(format!("{name}:{}: {fault}", snippet.line));
            }
        }
    }
    assert!(count > 10, "{count} snippets");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn a_snippet_that_is_not_compiled_is_detected() {
    let page = top().join("book/src/settings.md");
    let sources = ["fn one() {\n    1\n}\n\nfn two() {}\n".to_owned()];
    let fault_of = |text: &str| {
        let page_text = format!("text\n\n```rust,ignore\n{text}\n```\n");
        let snippets = snippets(&page_text);
        assert_eq!(snippets[0].line, 3);
        fault(&page, &snippets[0], &sources)
    };
    for text in [
        "{{#include ../../examples/website/src/main.rs:program}}",
        "{{#include ../../tests/src/bin/pages.rs:flags}}\n\n{{#include ../../tests/src/bin/pages.rs:main}}",
        "{{#include ../../examples/scheduled-task/src/tests.rs:story}}",
        "fn two() {}\n\nfn one() {\n    1\n}",
    ] {
        assert_eq!(fault_of(text), None, "{text}");
    }
    for (text, expected) in [
        (
            "{{#include ../../examples/website/src/main.rs:nothing}}",
            "no anchor `nothing`",
        ),
        (
            "{{#include ../../examples/website/src/none.rs}}",
            "no workspace member compiles",
        ),
        (
            "{{#include ../../bench/smallest/none.rs}}",
            "no workspace member compiles",
        ),
        (
            "{{#include ../../examples/website/src/main.rs:2:3}}",
            "not the lines of whole items",
        ),
        (
            "{{#include ../../examples/website/src/main.rs:program}} // more",
            "is not an include",
        ),
        (
            "fn two() {}\n\nfn three() {}",
            "begins with `fn three() {}`",
        ),
    ] {
        let fault = fault_of(text).unwrap_or_default();
        assert!(fault.contains(expected), "{text}: {fault}");
    }
    assert!(snippets("```yaml\na: b\n```\n").is_empty());
}
