//! What `bench/README.md` says can be typed.

use std::process::Command;

fn bench(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pilothouse-bench"))
        .args(arguments)
        .output()
        .expect("the bench runs");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The part of the README about the peers, and what stands there between backticks.
fn commands() -> Vec<String> {
    let readme = include_str!("../README.md");
    let (_, section) = readme
        .split_once("## Side by side with the peers\n")
        .expect("the section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let parts = section.split('`').skip(1).step_by(2);
    parts.map(str::to_owned).collect()
}

#[test]
fn each_option_that_the_readme_names_is_one() {
    let help = bench(&["--help"]);
    let known: Vec<_> = help
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
        .collect();
    let mut options = 0;
    for command in commands() {
        // What stands before it is cargo's.
        let own = command.rsplit(" -- ").next().unwrap_or_default();
        let is_cargos = own.starts_with("cargo ");
        for word in own
            .split(' ')
            .filter(|word| !is_cargos && word.starts_with('-'))
        {
            assert!(known.contains(&word), "{command}: no {word} in\n{help}");
            options += 1;
        }
    }
    assert!(options >= 8, "{options} options are named");
}

#[test]
fn each_program_that_the_readme_names_is_one() {
    let commands = commands();
    for name in ["serve", "read"] {
        let command = format!("pilothouse-bench {name}");
        assert!(commands.contains(&command), "{command} is not named");
        bench(&[name, "--help"]);
    }
}

#[test]
fn each_table_that_the_readme_names_can_be_asked_for_alone() {
    let commands = commands();
    let only = commands
        .iter()
        .find_map(|command| command.strip_prefix("--only "))
        .expect("--only");
    let help = bench(&["--help"]);
    let line = format!("[possible values: {}]", only.replace(',', ", "));
    assert!(help.contains(&line), "{line} is not in\n{help}");
}
