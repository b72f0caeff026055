use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::Origin;
use crate::resource::yaml::{self, Content, Node, Problem};

/// Settings are about one page of text. A larger file is probably another file.
const LARGEST: u64 = 1 << 20;

/// A parsed settings file: YAML whose names are those of the flags, each with one value or a list of values.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::operator) struct SettingsFile {
    pub(in crate::operator) path: PathBuf,
    pub(in crate::operator) entries: Vec<Entry>,
}

/// One name in the file with its values. `None` means that no value follows the name.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::operator) struct Entry {
    pub(in crate::operator) name: String,
    pub(in crate::operator) line: u64,
    pub(in crate::operator) values: Option<Vec<String>>,
}

impl SettingsFile {
    /// Reads and parses the file.
    ///
    /// # Errors
    /// One line with the file, the line number if it is known, and the problem. It never contains a value of the file.
    pub(in crate::operator) fn read(path: &Path) -> Result<Self, String> {
        Self::parse(path, &Self::text(path)?)
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(in crate::operator) fn text(path: &Path) -> Result<String, String> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                format!(
                    "the settings file {} does not exist: check --config",
                    path.display()
                )
            }
            io::ErrorKind::InvalidData => format!("{}: the file is not UTF-8", path.display()),
            _ => format!(
                "reading the settings file {} failed: {error}",
                path.display()
            ),
        };
        let mut text = String::new();
        let file = File::open(path).map_err(failed)?;
        file.take(LARGEST + 1)
            .read_to_string(&mut text)
            .map_err(failed)?;
        if text.len() as u64 > LARGEST {
            return Err(format!("{}: the file is larger than 1 MiB", path.display()));
        }
        Ok(text)
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(in crate::operator) fn parse(path: &Path, text: &str) -> Result<Self, String> {
        let at = |line: usize, what: &str| format!("{}:{line}: {what}", path.display());
        const NO_SETTINGS: &str =
            "not a YAML mapping of settings: write one `name: value` on each line";
        let root = yaml::read(text, true).map_err(|error| {
            let what = match error.problem {
                Problem::Duplicate => "the setting appears twice",
                _ => NO_SETTINGS,
            };
            at(error.place().line, what)
        })?;
        let named = match root.content {
            _ if root.is_null() => Vec::new(),
            Content::Map(named) => named,
            _ => return Err(at(root.place.line, NO_SETTINGS)),
        };
        let mut entries = Vec::new();
        for setting in named {
            let line = setting.place.line;
            let values =
                match setting.value.content {
                    _ if setting.value.is_null() => None,
                    Content::Scalar(scalar) => Some(vec![scalar.text]),
                    Content::List(items) => {
                        let items: Option<Vec<String>> = items.into_iter().map(text_of).collect();
                        Some(items.ok_or_else(|| {
                            at(line, "the list holds an item that is not a value")
                        })?)
                    }
                    Content::Map(_) => {
                        return Err(at(
                            line,
                            "the setting is a mapping: write one value, or a list of values",
                        ));
                    }
                };
            entries.push(Entry {
                name: setting.key,
                line: line as u64,
                values,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            entries,
        })
    }

    /// The values of a setting, and their origin.
    pub(in crate::operator) fn get(&self, name: &str) -> Option<(&[String], Origin)> {
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        Some((entry.values.as_deref()?, self.origin(entry)))
    }

    /// The names whose values differ in another file.
    pub(in crate::operator) fn differences<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let names = self.entries.iter().chain(&other.entries);
        let mut names: Vec<&str> = names.map(|entry| &*entry.name).collect();
        names.sort_unstable();
        names.dedup();
        let values = |file: &'a Self, name| file.get(name).map(|(values, _)| values);
        names.retain(|name| values(self, name) != values(other, name));
        names
    }

    pub(in crate::operator) fn origin(&self, entry: &Entry) -> Origin {
        Origin::File {
            path: self.path.clone(),
            line: entry.line,
        }
    }
}

/// The text of an item as it is written, so that `0.10` and `010` keep their digits.
fn text_of(item: Node) -> Option<String> {
    match item.content {
        _ if item.is_null() => None,
        Content::Scalar(scalar) => Some(scalar.text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name, its line, its values.
    type Named = (String, u64, Option<Vec<String>>);

    fn parse(text: &str) -> Result<Vec<Named>, String> {
        let file = SettingsFile::parse(Path::new("site.yaml"), text)?;
        let entries = file.entries.into_iter();
        Ok(entries
            .map(|entry| (entry.name, entry.line, entry.values))
            .collect())
    }

    #[test]
    fn values_are_taken_as_they_are_written() {
        let table = [
            ("log: debug", vec!["debug"]),
            ("log: 'a: b'", vec!["a: b"]),
            ("log: 0", vec!["0"]),
            ("log: 0.10", vec!["0.10"]),
            ("log: 010", vec!["010"]),
            ("log: true", vec!["true"]),
            ("log: :8080", vec![":8080"]),
            ("log: [a, 1.0, 'c']", vec!["a", "1.0", "c"]),
            ("log:\n- a\n- b\n", vec!["a", "b"]),
            ("log: \"0x1f\" # why", vec!["0x1f"]),
            ("---\nlog: []", vec![]),
        ];
        for (text, expected) in table {
            let values = parse(text).unwrap().remove(0).2.unwrap();
            assert_eq!(values, expected, "{text}");
        }
    }

    #[test]
    fn each_name_has_its_line_and_nothing_is_no_value() {
        let text = "# settings\nlog: debug\n\ncontext:\nnamespace: [a,\n  b]\n";
        let names: Vec<_> = parse(text).unwrap();
        let lines: Vec<_> = names
            .iter()
            .map(|(name, line, values)| (name.as_str(), *line, values.is_some()))
            .collect();
        assert_eq!(
            lines,
            [
                ("log", 2, true),
                ("context", 4, false),
                ("namespace", 5, true)
            ]
        );
        for empty in ["", "# nothing\n", "---\n", "{}"] {
            assert_eq!(parse(empty), Ok(Vec::new()), "{empty:?}");
        }
    }

    #[test]
    fn an_invalid_file_is_reported_with_the_line_and_without_a_value() {
        let table = [
            (
                "log: debug\nlog: info",
                "site.yaml:2: the setting appears twice",
            ),
            (
                "a: 1\nlog:\n  level: hunter2",
                "site.yaml:2: the setting is a mapping: write one value, or a list of values",
            ),
            (
                "log:\n- a\n-\n",
                "site.yaml:1: the list holds an item that is not a value",
            ),
            (
                "log: [[hunter2]]",
                "site.yaml:1: the list holds an item that is not a value",
            ),
            (
                "- hunter2",
                "site.yaml:1: not a YAML mapping of settings: write one `name: value` on each line",
            ),
            (
                "log: debug\ntoken: [hunter2",
                "site.yaml:2: not a YAML mapping of settings: write one `name: value` on each line",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
        }
    }
}
