//! The settings and the command line of operators, as a program prints them.

use std::{collections::BTreeMap, process::Command};

use super::{compare, row};

/// An operator with webhooks and without flags of its own.
const PROGRAM: &str = env!("CARGO_BIN_EXE_teams");

/// What a subcommand prints as its help.
fn help(subcommand: &str) -> String {
    let mut command = Command::new(PROGRAM);
    command.args(subcommand.split_whitespace()).arg("--help");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{subcommand}");
    String::from_utf8(output.stdout).unwrap()
}

/// A flag of a help text.
#[derive(Clone, Debug, PartialEq)]
struct Flag {
    heading: String,
    name: String,
    value: String,
    variable: String,
    default: String,
    help: String,
}

/// Takes `[WHAT: …]` out of a help text.
fn take(help: &mut String, what: &str) -> String {
    let mark = format!("[{what}: ");
    let Some(begin) = help.find(&mark) else {
        return String::new();
    };
    let end = begin + help[begin..].find(']').unwrap();
    let value = help[begin + mark.len()..end].to_owned();
    let rest = help[end + 1..].to_owned();
    help.truncate(begin);
    *help = format!("{}{}", help.trim_end(), rest);
    value
}

/// The flags of a help text, in their order.
fn flags(help: &str) -> Vec<Flag> {
    let mut heading = String::new();
    let mut found: Vec<(String, String, String)> = Vec::new();
    for line in help.lines() {
        let trimmed = line.trim();
        if !line.starts_with(' ') {
            heading = trimmed.trim_end_matches(':').to_owned();
        } else if trimmed.starts_with('-') {
            let (flag, text) = match trimmed.split_once("  ") {
                Some((flag, text)) => (flag, text.trim()),
                None => (trimmed, ""),
            };
            found.push((heading.clone(), flag.to_owned(), text.to_owned()));
        } else if let Some((_, _, text)) = found.last_mut()
            && !trimmed.is_empty()
        {
            text.push(' ');
            text.push_str(trimmed);
        }
    }
    let flag = |(heading, flag, text): (String, String, String)| {
        let long = flag.split("--").nth(1).unwrap_or_default();
        let end = long.find([' ', '[', '=']).unwrap_or(long.len());
        let value = flag
            .split_once('<')
            .and_then(|(_, rest)| rest.split_once('>'));
        let mut help = text.trim().to_owned();
        let [variable, default, values] =
            ["env", "default", "possible values"].map(|what| take(&mut help, what));
        if !values.is_empty() {
            help = format!("{help}: {values}");
        }
        Flag {
            heading,
            name: long[..end].to_owned(),
            value: value.map(|(value, _)| value.to_owned()).unwrap_or_default(),
            variable,
            default,
            help,
        }
    };
    found.into_iter().map(flag).collect()
}

#[test]
fn the_reference_has_each_setting_with_its_default() {
    /// They are no settings: only the command line has them.
    const ONLY_FLAGS: [&str; 4] = ["help", "version", "config", "print-settings"];
    let of_dev: BTreeMap<String, Flag> = flags(&help("dev"))
        .into_iter()
        .map(|flag| (flag.name.clone(), flag))
        .collect();
    let mut table = String::new();
    let mut heading = String::new();
    for flag in flags(&help("run")) {
        if ONLY_FLAGS.contains(&flag.name.as_str()) {
            continue;
        }
        if flag.heading != heading {
            heading.clone_from(&flag.heading);
            table += &format!("\n## {heading}\n\n");
            table += &row(&["setting", "variable", "default", "meaning"]);
            table += &row(&["---"; 4]);
        }
        let code = |text: &str| match text {
            "" => String::new(),
            // A description, not a value.
            text if text.contains(' ') => text.to_owned(),
            text => format!("`{text}`"),
        };
        let mut default = code(&flag.default);
        if let Some(dev) = of_dev.get(&flag.name)
            && dev.default != flag.default
            && !dev.default.is_empty()
        {
            default += &format!("; with `dev` {}", code(&dev.default));
        }
        let name = match flag.value.as_str() {
            "" => format!("`--{}`", flag.name),
            value => format!("`--{} <{value}>`", flag.name),
        };
        let variable = code(&flag.variable);
        table += &row(&[&name, &variable, &default, &flag.help]);
    }
    assert!(
        table.contains("`--lease-duration <TIME>` | `TEAMS_LEASE_DURATION` | `15s`"),
        "{table}"
    );
    compare("settings.md", &[("settings", table)]);
}

/// The names of the subcommands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    let rest = help.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    let lines = rest.lines().take_while(|line| line.starts_with(' '));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    let names = names.filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

#[test]
fn the_reference_has_the_help_of_each_subcommand() {
    let whole = help("");
    let mut text = String::new();
    for name in commands(&whole) {
        let inner = commands(&help(&name)).into_iter();
        let inner = inner.map(|inner| format!("{name} {inner}"));
        for name in [name.clone()].into_iter().chain(inner) {
            text += &format!("## {name}\n\n```text\n{}\n```\n\n", help(&name).trim());
        }
    }
    for name in ["## adopt-from", "## crd\n", "## crd install"] {
        assert!(text.contains(name), "{whole}");
    }
    compare("command-line.md", &[("help", text)]);
}

#[test]
fn flags_are_read_from_a_help_text() {
    let help = "Usage: a\n\nCluster:\n  -n, --namespace <NAME>  Work in it [default: all] [env: A_NAMESPACE]\n      --on[=<BOOL>]\n          Switch it on [default: true] [possible values: true, false]\n";
    let found = flags(help);
    let flag = |name: &str, value: &str, variable: &str, default: &str, help: &str| Flag {
        heading: "Cluster".to_owned(),
        name: name.to_owned(),
        value: value.to_owned(),
        variable: variable.to_owned(),
        default: default.to_owned(),
        help: help.to_owned(),
    };
    assert_eq!(
        found,
        [
            flag("namespace", "NAME", "A_NAMESPACE", "all", "Work in it"),
            flag("on", "BOOL", "", "true", "Switch it on: true, false"),
        ]
    );
}
