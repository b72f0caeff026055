//! The tutorial of the book, walked in an empty folder.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use tutorial::{
    page::{Step, steps},
    walk::{Start, Tools, page, pages, walk, walk_from},
};

/// Walks that build wait for each other: what they print in time depends on it.
static BUILDS: Mutex<()> = Mutex::new(());

fn all_steps(repository: &Path) -> Vec<Step> {
    let pages = pages(repository).unwrap();
    let steps = pages.iter().map(|(name, text)| steps(name, text).unwrap());
    steps.flatten().collect()
}

#[test]
fn each_block_of_the_tutorial_is_a_step() {
    let steps = all_steps(&Tools::of_environment().repository);
    let count = |is: fn(&Step) -> bool| steps.iter().filter(|step| is(step)).count();
    let listings = count(|step| matches!(step, Step::File { .. } | Step::Items { .. }));
    let commands = count(|step| matches!(step, Step::Run(_)));
    assert!(
        listings > 20 && commands > 40,
        "{listings} listings, {commands} commands"
    );
}

/// A page with a step of each sort.
const PAGE: &str = "\
A program in `main.rs`:

```rust,ignore file=main.rs
fn main() {
    println!(\"{}\", one());
}

fn one() -> u8 {
    1
}
```

```console
$ rustc main.rs && ./main
1
```

Another `one` in `main.rs`:

```rust,ignore in=main.rs
fn one() -> u8 {
    2
}
```

```console
$ rustc main.rs && ./main
2
```

```console terminal=other
$ echo ready
ready
^C
```

```console fails
$ ls none
…
```
";

/// What the walk finds if a reader's page has `new` in the place of `old`.
fn problems(old: &str, new: &str) -> Vec<String> {
    assert_eq!(PAGE.matches(old).count(), 1, "{old}");
    let page = PAGE.replace(old, new);
    walk(&Tools::of_environment(), &steps("page.md", &page).unwrap())
}

#[test]
fn a_page_that_is_right_has_no_problems() {
    assert_eq!(problems("A program", "The program"), [""; 0]);
}

#[test]
fn an_edit_that_breaks_a_listing_an_output_or_a_command_is_found() {
    for (old, new, expected) in [
        // A listing that does not compile, and one that another listing does not fit.
        ("    2\n", "    two\n", "page.md:27: rustc"),
        (
            "Another `one` in `main.rs`:\n\n```rust,ignore in=main.rs\nfn one",
            "In `main.rs`:\n\n```rust,ignore in=main.rs\nfn uno",
            "page.md:27: rustc",
        ),
        (
            "in=main.rs\nfn one() -> u8 {\n",
            "in=main.rs\n",
            "page.md:20: no item begins with",
        ),
        // An output.
        (
            "\n2\n",
            "\n3\n",
            "The book shows:\n3\nThe command printed:\n2",
        ),
        (
            "\nready\n",
            "\nsteady\n",
            "page.md:33: `steady` does not appear",
        ),
        // A command.
        (
            "rustc main.rs && ./main\n2",
            "rustc main.rs && ./none\n2",
            "page.md:27: rustc main.rs && ./none\nended with 127",
        ),
        (
            "ls none",
            "ls main.rs",
            "page.md:38: ls main.rs\nended with 0",
        ),
    ] {
        let problems = problems(old, new).join("\n");
        assert!(problems.contains(expected), "{new}: {problems}");
    }
}

#[test]
#[ignore = "builds an operator again and again: `.ci/run long tutorial`"]
fn the_tutorial_works_as_it_is_printed() {
    let _alone = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
    let tools = Tools::of_environment();
    let problems = walk(&tools, &all_steps(&tools.repository));
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
}

/// Walks through a page that is no part of the tutorial.
fn works(name: &str, start: Start) {
    let _alone = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
    let tools = Tools::of_environment();
    let steps = steps(name, &page(&tools.repository, name).unwrap()).unwrap();
    assert!(steps.len() > 8, "{steps:?}");
    let problems = walk_from(start, &tools, &steps);
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
}

#[test]
#[ignore = "builds an operator: `.ci/run long tutorial`"]
fn the_quick_start_works_as_it_is_printed() {
    works("quick-start.md", Start::Repository);
}

#[test]
#[ignore = "builds two operators and the tool: `.ci/run long tutorial`"]
fn an_own_project_works_as_it_is_printed() {
    works("own-project.md", Start::Beside);
}
