//! The tutorial of the book, walked in an empty folder.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use tutorial::{
    page::{Step, steps},
    record,
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

/// The walks: the tutorial, and the pages that are no part of it.
const TUTORIAL: &str = "tutorial";
const OTHERS: [&str; 2] = ["quick-start.md", "own-project.md"];

fn steps_of(repository: &Path, walk: &str) -> Vec<Step> {
    match walk {
        TUTORIAL => all_steps(repository),
        name => steps(name, &page(repository, name).unwrap()).unwrap(),
    }
}

#[test]
fn nobody_has_edited_a_step_since_it_was_walked() {
    if is_recording() {
        return;
    }
    let repository = Tools::of_environment().repository;
    let walked = record::read(&repository).unwrap();
    for walk in [TUTORIAL, OTHERS[0], OTHERS[1]] {
        assert_eq!(
            walked.get(walk),
            Some(&record::digest(&steps_of(&repository, walk))),
            "the steps of {walk} are not those that were walked: walk them, which takes up to 11 minutes, with\n\
             UPDATE_WALKED=1 cargo test -p tutorial -- --include-ignored"
        );
    }
}

fn is_recording() -> bool {
    std::env::var_os("UPDATE_WALKED").is_some()
}

/// Notes that a walk had no problem, if that is asked for.
fn walked(repository: &Path, walk: &str, steps: &[Step]) {
    if is_recording() {
        record::write(repository, walk, steps).unwrap();
    }
}

#[test]
fn an_edited_step_has_another_digest_and_a_moved_one_has_not() {
    let digest = |text: &str| record::digest(&steps("page.md", text).unwrap());
    assert_eq!(digest(PAGE), digest(&format!("A sentence.\n\n{PAGE}")));
    assert_ne!(digest(PAGE), digest(&PAGE.replace("one", "two")));
}

#[test]
#[ignore = "builds an operator again and again: `.ci/run long tutorial`"]
fn the_tutorial_works_as_it_is_printed() {
    let _alone = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
    let tools = Tools::of_environment();
    let steps = all_steps(&tools.repository);
    let problems = walk(&tools, &steps);
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
    walked(&tools.repository, TUTORIAL, &steps);
}

/// Walks through a page that is no part of the tutorial.
fn works(name: &str, start: Start) {
    let _alone = BUILDS.lock().unwrap_or_else(PoisonError::into_inner);
    let tools = Tools::of_environment();
    let steps = steps_of(&tools.repository, name);
    assert!(steps.len() > 8, "{steps:?}");
    let problems = walk_from(start, &tools, &steps);
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
    walked(&tools.repository, name, &steps);
}

#[test]
#[ignore = "builds an operator: `.ci/run long tutorial`"]
fn the_quick_start_works_as_it_is_printed() {
    works(OTHERS[0], Start::Repository);
}

#[test]
#[ignore = "builds two operators and the tool: `.ci/run long tutorial`"]
fn an_own_project_works_as_it_is_printed() {
    works(OTHERS[1], Start::Beside);
}
