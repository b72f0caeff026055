use std::fmt::Write;

use clap::ArgMatches;

use super::{Origin, setting::Setting};

/// A setting as `--print-settings` shows it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::operator) struct ResolvedSetting {
    pub(in crate::operator) name: String,
    pub(in crate::operator) value: Value,
    pub(in crate::operator) origin: Origin,
}

/// The part of a value that may be shown.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::operator) enum Value {
    /// The setting has no value.
    Unset,
    /// The setting has a value that must not be shown.
    Secret,
    /// One value or several.
    Plain(Vec<String>),
}

impl ResolvedSetting {
    pub(super) fn new(setting: &Setting<'_>, origin: Origin, matches: &ArgMatches) -> Self {
        let raw = matches.get_raw(setting.arg.get_id().as_str());
        let value = match raw {
            None => Value::Unset,
            Some(_) if setting.is_secret() => Value::Secret,
            Some(raw) => Value::Plain(
                raw.map(|value| value.to_string_lossy().into_owned())
                    .collect(),
            ),
        };
        Self {
            name: setting.name.to_owned(),
            value,
            origin,
        }
    }
}

/// Prints all settings as a settings file, each with its origin. Settings without a value and secrets are comments.
pub(in crate::operator) fn print(settings: &[ResolvedSetting]) -> String {
    let mut text = String::new();
    for ResolvedSetting {
        name,
        value,
        origin,
    } in settings
    {
        // Writing to a string does not fail.
        let _ = match value {
            Value::Unset => writeln!(text, "# {name}: not set"),
            Value::Secret => writeln!(text, "# {name}: a secret, not shown # {origin}"),
            Value::Plain(values) => match &values[..] {
                [value] => writeln!(text, "{name}: {} # {origin}", scalar(value)),
                values => {
                    let values: Vec<String> = values.iter().map(|value| scalar(value)).collect();
                    writeln!(text, "{name}: [{}] # {origin}", values.join(", "))
                }
            },
        };
    }
    text
}

/// A YAML scalar on one line. It is quoted as JSON unless it is plain in every context.
fn scalar(text: &str) -> String {
    let word = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    let plain = text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '/')
        && text.chars().all(word)
        && text != "null";
    match plain {
        true => text.to_owned(),
        false => serde_json::Value::from(text).to_string(),
    }
}
