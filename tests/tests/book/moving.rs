//! Checks that each page of the part "Moving here" shows the whole operator that `tests/moving` runs.

use std::fs;

use super::{page, top};

/// The folders of `tests/moving` with the language of their program and its file.
const OPERATORS: [(&str, &str, &str); 4] = [
    ("controller-runtime", "go", "main.go"),
    ("java-operator-sdk", "java", "BoardReconciler.java"),
    ("kopf", "python", "boards.py"),
    ("kube-rs", "rust,ignore", "src/main.rs"),
];
const PORT: &str = "src/bin/boards.rs";

/// Why a page does not show the whole file as its only listing in this language, or `None`.
fn fault(page: &str, language: &str, include: &str) -> Option<String> {
    let fence = format!("\n```{language}\n");
    let listings: Vec<&str> = page
        .split(&fence)
        .skip(1)
        .map(|rest| rest.split("\n```\n").next().unwrap_or_default())
        .collect();
    let expected = format!("{{{{#include ../../../tests/{include}}}}}");
    (listings != [expected.as_str()])
        .then(|| format!("expected only {expected}, found {listings:?}"))
}

#[test]
fn each_page_shows_the_whole_operator_that_is_run() {
    let mut folders: Vec<String> = fs::read_dir(top().join("tests/moving"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    folders.sort();
    assert_eq!(folders, OPERATORS.map(|(folder, ..)| folder));
    for (folder, language, file) in OPERATORS {
        let file = format!("moving/{folder}/{file}");
        assert!(top().join("tests").join(&file).is_file(), "{file}");
        let page = page(&format!("moving/{folder}.md"));
        assert_eq!(fault(&page, language, &file), None, "moving/{folder}.md");
    }
    let port = fs::read_to_string(top().join("tests").join(PORT)).unwrap();
    let (_, shown) = port.split_once("// ANCHOR: recipe\n").unwrap();
    let (shown, _) = shown.split_once("// ANCHOR_END: recipe\n").unwrap();
    assert!(shown.contains("\nfn main() -> ExitCode {\n"), "{shown}");
    let include = format!("{PORT}:recipe");
    let fault = fault(&page("moving/overview.md"), "rust,ignore", &include);
    assert_eq!(fault, None, "moving/overview.md");
}

#[test]
fn an_excerpt_in_place_of_the_file_is_found() {
    let whole = "text\n\n```go\n{{#include ../../../tests/a.go}}\n```\n\nmore\n";
    assert_eq!(fault(whole, "go", "a.go"), None);
    for excerpt in ["{{#include ../../../tests/a.go:3:9}}", "func main() {}"] {
        let page = whole.replace("{{#include ../../../tests/a.go}}", excerpt);
        assert!(fault(&page, "go", "a.go").is_some(), "{excerpt}");
    }
    let twice = format!("{whole}\n```go\nfunc main() {{}}\n```\n");
    assert!(fault(&twice, "go", "a.go").is_some());
}
