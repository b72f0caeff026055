//! Checks that `ARCHITECTURE.md` names only paths and items that exist.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use pilothouse_tests::layers::read_sources;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Names on the page that belong to Kubernetes, Go or the standard library.
const FOREIGN: [&str; 7] = [
    "*_test.rs",
    "Debug",
    "Err(Undecodable)",
    "Retry-After",
    "events.k8s.io/v1",
    "mod.rs",
    "tests.rs",
];

/// Returns the words in backquotes outside code blocks.
fn quoted(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in page.split("```").step_by(2) {
        let spans = text.split('`').skip(1).step_by(2);
        found.extend(spans.map(str::to_owned));
    }
    found
}

/// Whether a source defines an item of this name.
fn defines(source: &str, name: &str) -> bool {
    [
        "struct",
        "enum",
        "trait",
        "type",
        "fn",
        "const",
        "mod",
        "macro_rules!",
    ]
    .iter()
    .any(|kind| {
        let wanted = format!("{kind} {name}");
        source.match_indices(&wanted).any(|(place, _)| {
            let after = source[place + wanted.len()..].chars().next();
            !after.is_some_and(|after| after.is_alphanumeric() || after == '_')
        })
    })
}

/// Returns what is wrong with a name on the page, or `None`.
fn fault(
    name: &str,
    exists: &dyn Fn(&str) -> bool,
    sources: &[(String, String)],
) -> Option<String> {
    if FOREIGN.contains(&name) || name.contains(' ') || name.starts_with(['/', '#']) {
        return None;
    }
    let is_path = name.contains('/')
        || [".rs", ".md", ".toml"]
            .iter()
            .any(|end| name.ends_with(end));
    if is_path {
        return (!exists(name)).then(|| format!("no file or folder has the path `{name}`"));
    }
    let segments: Vec<_> = name.trim_end_matches("()").split("::").collect();
    let (item, place) = segments.split_last()?;
    let is_item = !place.is_empty() || item.starts_with(|first: char| first.is_uppercase());
    if !is_item {
        return None;
    }
    let inside = |path: &str| {
        let mut folders = path.split(['/', '.']);
        place
            .iter()
            .all(|module| folders.any(|folder| folder == *module))
    };
    let found = sources
        .iter()
        .any(|(path, text)| inside(path) && defines(text, item));
    (!found).then(|| format!("no source defines `{name}`"))
}

#[test]
fn architecture_md_names_only_existing_paths_and_items() {
    let mut sources = Vec::new();
    for folder in ["framework/src", "sandbox/src", "macros/src"] {
        sources.extend(read_sources(&top().join(folder)).unwrap());
    }
    let page = fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap();
    let exists = |name: &str| {
        let name = name.trim_end_matches('/');
        ["", "framework/src"]
            .iter()
            .any(|folder| top().join(folder).join(name).exists())
    };
    let names = quoted(&page);
    assert!(names.len() > 50, "{} names", names.len());
    let faults: Vec<_> = names
        .iter()
        .filter_map(|name| fault(name, &exists, &sources))
        .collect();
    assert!(faults.is_empty(), "ARCHITECTURE.md:\n{}", faults.join("\n"));
    for promise in 1..=15 {
        assert!(
            page.contains(&format!("\n### R{promise} ")),
            "R{promise} is missing"
        );
    }
}

#[test]
fn a_missing_path_or_item_is_detected() {
    let sources = [(
        "cache/reflector.rs".to_owned(),
        "pub struct Reflector<K>;".to_owned(),
    )];
    let fault = |name: &str| fault(name, &|path| path == "cache/mod.rs", &sources);
    for name in [
        "cache/mod.rs",
        "cache::Reflector",
        "Reflector",
        "reconcile",
        "a sentence",
        "/readyz",
    ] {
        assert_eq!(fault(name), None, "{name}");
    }
    for name in [
        "cache/store.rs",
        "queue::Reflector",
        "Reflect",
        "cache::Reflector::run",
    ] {
        assert!(fault(name).is_some(), "{name}");
    }
}
