//! Checks that each recipe of the book has the form of the others, and that each module of the recipes' code stands on a page.

use std::fs;

use super::{page, top};

/// The names of the files of a folder with this end, without it.
fn names(folder: &str, end: &str) -> Vec<String> {
    let entries = fs::read_dir(top().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<_> = names
        .filter_map(|name| name.strip_suffix(end).map(str::to_owned))
        .collect();
    found.sort();
    found
}

/// What a recipe lacks.
fn lacks(text: &str) -> Vec<&'static str> {
    let parts = [
        "\n\n**Task:** ",
        "\n```rust,ignore\n{{#include ",
        "\n\n## What happens\n",
        "\n\n## What to avoid\n",
        "See also: [",
    ];
    let mut rest = text;
    let mut missing = Vec::new();
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => missing.push(part.trim()),
        }
    }
    missing
}

#[test]
fn each_recipe_has_the_task_the_code_what_happens_and_what_to_avoid() {
    let contents = page("how-to/recipes.md");
    let recipes = names("book/src/how-to", ".md");
    assert!(recipes.len() > 25, "{} recipes", recipes.len());
    for name in recipes.iter().filter(|name| *name != "recipes") {
        let missing = lacks(&page(&format!("how-to/{name}.md")));
        assert!(missing.is_empty(), "{name} lacks {missing:?} in this order");
        let link = format!("]({name}.md)");
        assert!(contents.contains(&link), "recipes.md does not list {name}");
    }
}

#[test]
fn each_module_of_the_recipes_stands_on_a_page() {
    let pages = ["book/src/how-to", "book/src/moving"].map(|folder| {
        let names = names(folder, ".md").into_iter();
        let read = |name| fs::read_to_string(top().join(folder).join(format!("{name}.md")));
        names.map(|name| read(name).unwrap()).collect::<String>()
    });
    let pages = pages.concat();
    // The tests share what is in `world`.
    let modules = names("tests/tests/how_to", ".rs");
    for module in modules
        .iter()
        .filter(|name| !["main", "world"].contains(&name.as_str()))
    {
        let included = format!("tests/how_to/{module}.rs:");
        assert!(pages.contains(&included), "no page shows {module}");
    }
}

#[test]
fn a_part_that_is_missing_or_at_another_place_is_found() {
    let whole = "# A\n\n**Task:** b\n\n```rust,ignore\n{{#include c}}\n```\n\n## What happens\n\nd\n\n## What to avoid\n\nSee also: [e](e.md)\n";
    assert_eq!(lacks(whole), [""; 0]);
    assert_eq!(lacks(&whole.replace("**Task:**", "Task:")), ["**Task:**"]);
    let late = whole.replace("## What happens", "## Other") + "\n\n## What happens\n";
    assert!(lacks(&late).contains(&"## What to avoid"));
}
