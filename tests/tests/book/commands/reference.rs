//! The subcommands and flags of the tool and of an operator, as the pages of the reference have them. The programs print these pages.

use std::collections::BTreeMap;

use super::super::page;

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

/// What is wrong with the words after `cargo pilothouse`.
pub(super) fn of_tool(words: &[String]) -> Option<String> {
    let helps = helps(&page("reference/cargo-pilothouse.md"), "cargo pilothouse");
    problem(&helps, words)
}

/// What is wrong with the words after the name of an operator.
pub(super) fn of_operator(words: &[String]) -> Option<String> {
    if words.first().is_some_and(|word| OWN.contains(&&**word)) {
        return None;
    }
    problem(&helps(&page("reference/command-line.md"), ""), words)
}

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
