//! Checks the commands in `bench/README.md`.

use std::process::Command;

fn bench(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pilothouse-bench"))
        .args(arguments)
        .output()
        .expect("the bench runs");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the code in backticks from the README section about the peers.
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
fn each_option_in_the_readme_exists() {
    let help = bench(&["--help"]);
    let known: Vec<_> = help
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')
        .collect();
    let mut options = 0;
    for command in commands() {
        // The words before ` -- ` belong to cargo.
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
fn each_program_in_the_readme_exists() {
    let commands = commands();
    for name in ["serve", "read"] {
        let command = format!("pilothouse-bench {name}");
        assert!(commands.contains(&command), "{command} is not named");
        bench(&[name, "--help"]);
    }
}

#[test]
fn each_table_in_the_readme_can_be_selected() {
    let commands = commands();
    let only = commands
        .iter()
        .find_map(|command| command.strip_prefix("--only "))
        .expect("--only");
    let help = bench(&["--help"]);
    let line = format!("[possible values: {}]", only.replace(',', ", "));
    assert!(help.contains(&line), "{line} is not in\n{help}");
}
