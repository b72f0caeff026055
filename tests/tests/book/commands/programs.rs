//! Asks cargo, kubectl and Helm whether they know a subcommand and its flags, and looks for what `docker build` and the sandbox's program name.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use super::super::top;

/// The flags of `docker build` that pages use. No docker is on a machine that runs the tests.
const DOCKER_FLAGS: [&str; 6] = [
    "-f",
    "-t",
    "--build-arg",
    "--build-context",
    "--output",
    "--target",
];

fn run(program: &Path, words: &[String], help: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(program);
    // No cluster, no settings, and no project that a command could change.
    command
        .args(words)
        .arg(help)
        .current_dir(folder.path())
        .env("KUBECONFIG", folder.path().join("none"))
        .stdin(Stdio::null());
    command.output().unwrap()
}

/// What cargo says about its own subcommand. It reads the flags before it prints the help.
pub(super) fn of_cargo(words: &[String]) -> Option<String> {
    let own = words.iter().take_while(|word| *word != "--");
    // A placeholder stands for words of the program that `cargo run` starts.
    let own: Vec<_> = own
        .take_while(|word| !word.starts_with('['))
        .cloned()
        .collect();
    let cargo = env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from);
    refused(&run(&cargo, &own, "-h"))
}

/// The first line of what a program says that refuses its arguments.
fn refused(output: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().next().unwrap_or("it fails without a message");
    (!output.status.success()).then(|| line.to_owned())
}

/// What kubectl or Helm says about its arguments. Both read the flags before they print the help. For an unknown subcommand of a group such as
/// `create` they print the help of the group.
pub(super) fn of_cobra(program: &Path, words: &[String]) -> Option<String> {
    let output = run(program, words, "--help");
    refused(&output).or_else(|| {
        let help = String::from_utf8_lossy(&output.stdout);
        let usage = help.split("\nUsage:\n").nth(1)?.lines().next()?;
        let is_name = |word: &&str| {
            word.chars()
                .all(|one| one.is_ascii_lowercase() || one == '-')
        };
        let group: Vec<_> = usage
            .split_whitespace()
            .skip(1)
            .take_while(|word| is_name(word) && !word.starts_with('-'))
            .collect();
        let mut rest = words.iter();
        for name in &group {
            rest.by_ref().find(|word| word == name)?;
        }
        let next = rest.next().filter(|word| !word.starts_with('-'))?;
        let has_subcommands = help.contains("\nAvailable Commands:\n");
        has_subcommands.then(|| format!("`{}` has no subcommand `{next}`", group.join(" ")))
    })
}

/// What is wrong with the files that a call of kubectl names: those of the repository's examples have to exist, and those of a project.
pub(super) fn of_files(folder: &Path, words: &[String]) -> Option<String> {
    let flags = ["-f", "--filename", "-k", "--kustomize"];
    let named = words.windows(2).filter(|pair| flags.contains(&&*pair[0]));
    let mut missing = named.map(|pair| &*pair[1]).filter(|file| {
        let is_in_project = file.starts_with("example/") && folder.join("Cargo.toml").exists();
        file.starts_with("examples/") && !top().join(file).exists()
            || is_in_project && !folder.join(file).exists()
    });
    missing.next().map(|file| format!("there is no {file}"))
}

/// What is wrong with the words after `pilothouse-sandbox`.
pub(super) fn of_sandbox(words: &[String]) -> Option<String> {
    let source = top().join("sandbox/src/program/arguments.rs");
    let source = fs::read_to_string(source).unwrap();
    let knows = |name: &str| source.contains(&format!("\"{name}\""));
    let first = words.first().filter(|word| !word.starts_with('-'));
    let unknown = first
        .filter(|name| !knows(name))
        .map(|name| format!("there is no subcommand `{name}`"));
    let mut flags = words.iter().filter_map(|word| word.strip_prefix("--"));
    unknown.or_else(|| {
        let flag = flags.find(|flag| !knows(flag.split('=').next().unwrap_or_default()))?;
        Some(format!("there is no flag `--{flag}`"))
    })
}

/// What is wrong with the words after `docker build`: the Dockerfile exists and uses the arguments and contexts, and the flags are known ones. The
/// Dockerfile of a page without a project of its own is that of the tool.
pub(super) fn of_docker_build(folder: &Path, words: &[String]) -> Option<String> {
    let unknown = |word: &&String| word.starts_with('-') && !DOCKER_FLAGS.contains(&&***word);
    if let Some(flag) = words.iter().find(unknown) {
        return Some(format!(
            "`{flag}` is not in the list of docker's flags of this test"
        ));
    }
    let after = |flag: &str| {
        let pairs = words.windows(2).filter(move |pair| pair[0] == flag);
        pairs.map(|pair| pair[1].clone()).collect::<Vec<_>>()
    };
    let file = match after("-f").first() {
        Some(file) => top().join(file),
        None if folder.join("Dockerfile").exists() => folder.join("Dockerfile"),
        None => top().join("cli/created/Dockerfile"),
    };
    let Ok(text) = fs::read_to_string(&file) else {
        return Some(format!("there is no {}", file.display()));
    };
    let name = |pair: &String| pair.split('=').next().unwrap_or_default().to_owned();
    // BuildKit itself reads this one.
    let mut arguments = after("--build-arg")
        .into_iter()
        .filter(|one| !one.starts_with("SOURCE_DATE_EPOCH="));
    if let Some(argument) = arguments.find(|one| !text.contains(&format!("ARG {}\n", name(one)))) {
        return Some(format!("the Dockerfile has no `ARG {}`", name(&argument)));
    }
    let template = fs::read_to_string(top().join("cli/src/template.rs")).unwrap();
    let mut contexts = after("--build-context").into_iter();
    let context = contexts
        .find(|one| !template.contains(&format!("const CONTEXT: &str = \"{}\";", name(one))));
    context.map(|context| format!("no Dockerfile has a context `{}`", name(&context)))
}
