//! The tutorial of the book, walked in an empty folder.

use tutorial::{
    page::{Step, steps},
    walk::{Tools, pages, walk},
};

fn all_steps(repository: &std::path::Path) -> Vec<Step> {
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

#[test]
#[ignore = "builds an operator again and again: `.ci/run long tutorial`"]
fn the_tutorial_works_as_it_is_printed() {
    let tools = Tools::of_environment();
    let problems = walk(&tools, &all_steps(&tools.repository));
    assert!(problems.is_empty(), "\n{}", problems.join("\n\n"));
}
