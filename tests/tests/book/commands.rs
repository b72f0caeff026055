//! Checks that each command of the tool and of an operator that the book and the READMEs name exists, with its flags.
//!
//! A walk runs the commands of the tutorial, of the quick start and of "Your own project". Many others need a cluster, a registry or files of the
//! reader, so they are not run: their subcommands and flags are compared with the pages of the reference, which the programs print.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{page, top};

/// Operators of the book, as a reader calls them.
const OPERATORS: [&str; 4] = ["website", "pages", "teams", "cronjob"];
/// Subcommands that pages write themselves.
const OWN: [&str; 2] = ["text", "names"];

/// The help of each command of a page of the reference, by its name.
fn helps(text: &str, prefix: &str) -> BTreeMap<String, String> {
    let sections = text.split("\n## ").skip(1);
    let sections = sections.filter_map(|section| {
        let (title, help) = section.split_once('\n')?;
        let name = title.strip_prefix(prefix).unwrap_or(title).trim();
        Some((name.to_owned(), help.to_owned()))
    });
    sections.collect()
}

/// The words of a call of a program, without redirections and what follows a pipe. Lines that end with a backslash are one.
fn calls(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(line) = line.trim_start().strip_prefix("$ ") else {
            continue;
        };
        let mut line = line.to_owned();
        while let Some(before) = line.strip_suffix('\\') {
            line = format!("{before} {}", lines.next().unwrap_or_default());
        }
        let ends = |letter| matches!(letter, '|' | '>' | '&' | ';' | '(' | ')');
        let parts = line.split(ends);
        found.extend(parts.map(|part| {
            let words = part.split_whitespace().map(str::to_owned);
            // Variables for this call.
            let is_variable = |word: &String| {
                let name = word.split_once('=').map(|(name, _)| name);
                name.is_some_and(|name| {
                    name.chars()
                        .all(|letter| letter.is_ascii_uppercase() || letter == '_')
                })
            };
            words.skip_while(is_variable).collect::<Vec<_>>()
        }));
    }
    found
}

/// What a call says to the tool or to an operator: whether it is the tool, and the words after the program.
fn asked(call: &[String]) -> Option<(bool, &[String])> {
    let words: Vec<&str> = call.iter().map(String::as_str).collect();
    match &*words {
        ["cargo", "pilothouse", ..] => Some((true, &call[2..])),
        ["cargo", "run", ..] => {
            let at = words.iter().position(|word| *word == "--")?;
            Some((false, &call[at + 1..]))
        }
        [program, ..] if OPERATORS.contains(program) => Some((false, &call[1..])),
        _ => None,
    }
}

/// What is wrong with the words after a program.
fn problem(helps: &BTreeMap<String, String>, words: &[String]) -> Option<String> {
    let is_word = |word: &&String| {
        word.chars()
            .all(|letter| letter.is_ascii_lowercase() || letter == '-')
            && !word.starts_with('-')
    };
    let names = words.iter().take_while(is_word).collect::<Vec<_>>();
    // `add kind` has a help of its own, and in `new greeting` the second word is a name.
    let command = (0..=names.len().min(2)).rev().find_map(|count| {
        let name = names[..count].iter().map(|name| name.as_str());
        let name = name.collect::<Vec<_>>().join(" ");
        helps.get(&name).map(|help| (count, help))
    });
    let (count, help) = match (command, names.first()) {
        (None, None) => return None,
        (Some((0, _)) | None, Some(name)) => {
            return Some(format!("there is no subcommand `{name}`"));
        }
        (Some(command), _) => command,
    };
    let own = words[count..].iter().take_while(|word| *word != "--");
    let mut flags = own.filter(|word| word.starts_with('-') && *word != "-");
    flags.find_map(|flag| {
        let flag = flag.split('=').next().unwrap_or_default();
        let has = |end: &str| help.contains(&format!("{flag}{end}"));
        let is_there = [" ", ",", "[", "\n"].into_iter().any(has);
        (!is_there).then(|| format!("`{}` has no flag `{flag}`", words[..count].join(" ")))
    })
}

fn problems(place: &str, text: &str) -> Vec<String> {
    let tool = helps(&page("reference/cargo-pilothouse.md"), "cargo pilothouse");
    let operator = helps(&page("reference/command-line.md"), "");
    let calls = calls(text);
    let found = calls.iter().filter_map(|call| {
        let (is_tool, words) = asked(call)?;
        if !is_tool && words.first().is_some_and(|word| OWN.contains(&&**word)) {
            return None;
        }
        let problem = problem(if is_tool { &tool } else { &operator }, words)?;
        Some(format!("{place}: {}: {problem}", call.join(" ")))
    });
    found.collect()
}

/// The pages below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let found = paths.flat_map(|path| match path.is_dir() {
        true => pages(&path),
        false => vec![path],
    });
    let is_page = |path: &PathBuf| path.extension().is_some_and(|end| end == "md");
    found.filter(is_page).collect()
}

#[test]
fn each_command_that_a_page_names_exists_with_its_flags() {
    let mut all = pages(&top().join("book/src"));
    all.extend([top().join("README.md"), top().join("cli/README.md")]);
    let mut seen = 0;
    for path in all {
        let text = fs::read_to_string(&path).unwrap();
        seen += calls(&text)
            .iter()
            .filter(|call| asked(call).is_some())
            .count();
        let problems = problems(&path.display().to_string(), &text);
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
    assert!(seen > 60, "{seen} commands");
}

#[test]
fn a_command_that_does_not_exist_is_found() {
    for right in [
        "$ cargo pilothouse new greeting --workspace",
        "$ cargo pilothouse dev -- --leader-elect",
        "$ A=b website manifests --image x > y && website rbac",
        "$ cargo run --bin website -- --log=debug",
        "$ pages text --any",
        "website nothing",
    ] {
        assert_eq!(problems("page", right), [""; 0], "{right}");
    }
    for (wrong, expected) in [
        ("$ cargo pilothouse make x", "there is no subcommand `make`"),
        (
            "$ cargo pilothouse add kind X --own",
            "`add kind` has no flag `--own`",
        ),
        ("$ website role | cat", "there is no subcommand `role`"),
        (
            "$ echo | website manifests \\\n  --imag x",
            "`manifests` has no flag `--imag`",
        ),
        (
            "$ cargo run -- dev --instal x",
            "`dev` has no flag `--instal`",
        ),
    ] {
        let problems = problems("page", wrong).join("\n");
        assert!(problems.ends_with(expected), "{wrong}: {problems}");
    }
}
