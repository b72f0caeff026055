use serde::de::{DeserializeSeed, IgnoredAny};
use serde_json::Value;

use super::duplicate_keys::DuplicateKeys;
use crate::resource::{
    PathStep,
    yaml::{self, Node},
};

/// The text of one document, and the line of the whole text on which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// Why a document is neither YAML nor JSON.
pub(super) struct Malformed {
    /// Counted from 1 in the document.
    pub(super) line: Option<usize>,
    pub(super) path: Vec<PathStep>,
    pub(super) reason: String,
}

impl<'a> Document<'a> {
    /// The documents of a text, without those that hold nothing but comments.
    pub(super) fn split(text: &'a str) -> Vec<Self> {
        let text = text.trim_start_matches('\u{feff}');
        let mut documents = Vec::new();
        let (mut start, mut line, mut at) = (0, 1, 0);
        let mut has_content = false;
        for (here, part) in (1..).zip(text.split_inclusive('\n')) {
            let (before, after) = (at, at + part.len());
            let is_end = part.trim_end() == "...";
            if is_separator(part) || is_end {
                if has_content {
                    documents.extend(Self::split_json(text.get(start..before), line));
                }
                // Text behind a separator, on the same line, belongs to the document.
                has_content = !is_end && is_content(part);
                (start, line) = match has_content {
                    true => (before, here),
                    false => (after, here + 1),
                };
            }
            has_content |= is_content(part);
            at = after;
        }
        if has_content {
            documents.extend(Self::split_json(text.get(start..), line));
        }
        documents
    }

    /// Splits a text of JSON objects, which need no separator. A text that is not JSON is one document.
    fn split_json(text: Option<&'a str>, line: usize) -> Vec<Self> {
        let whole = Self {
            text: text.unwrap_or_default(),
            line,
        };
        if !whole.is_json() {
            return vec![whole];
        }
        let mut documents = Vec::new();
        let mut values = serde_json::Deserializer::from_str(whole.text).into_iter::<IgnoredAny>();
        let mut start = 0;
        loop {
            let next = values.next();
            let end = match next {
                Some(Ok(_)) => values.byte_offset(),
                Some(Err(_)) => whole.text.len(),
                None => break,
            };
            documents.push(whole.slice(start, end));
            start = end;
            if start == whole.text.len() {
                break;
            }
        }
        documents
    }

    /// The text from the first character after `start` that is no white space, to `end`.
    fn slice(&self, start: usize, end: usize) -> Self {
        let text = self.text.get(start..end).unwrap_or_default();
        let blank = text.len() - text.trim_start().len();
        let before = self.text.get(..start + blank).unwrap_or_default();
        Self {
            text: text.trim_start(),
            line: self.line + before.matches('\n').count(),
        }
    }

    /// The first line with content, counted from 1 in the document.
    pub(super) fn first_line(&self) -> usize {
        let mut lines = self.text.lines();
        lines.position(is_content).map_or(1, |line| line + 1)
    }

    /// The line of the value at the path, counted from 1 in the whole text.
    pub(super) fn line_of(&self, path: &[PathStep]) -> usize {
        self.line + self.node().line_of(path) - 1
    }

    fn is_json(&self) -> bool {
        self.text.trim_start().starts_with('{')
    }

    /// The document as JSON. If `strict`, a duplicate key is an error; otherwise its last value counts.
    pub(super) fn parse(&self, strict: bool) -> Result<Value, Malformed> {
        if !self.is_json() {
            return self.yaml(strict);
        }
        match self.json() {
            Ok((value, duplicates)) => match duplicates.into_iter().next().filter(|_| strict) {
                Some(path) => Err(Malformed {
                    line: None,
                    path,
                    reason: "duplicate key: remove all but one".into(),
                }),
                None => Ok(value),
            },
            // `{a: b}` may be YAML. If it is not, the error about JSON helps more.
            Err(malformed) => self.yaml(strict).map_err(|_| malformed),
        }
    }

    fn json(&self) -> Result<(Value, Vec<Vec<PathStep>>), Malformed> {
        let mut inner = serde_json::Deserializer::from_str(self.text.trim_end());
        let mut duplicates = Vec::new();
        let value = DuplicateKeys::new(&mut duplicates).deserialize(&mut inner);
        match value.and_then(|value| inner.end().map(|()| value)) {
            Ok(value) => Ok((value, duplicates)),
            Err(error) => Err(Malformed {
                line: Some(error.line()),
                path: Vec::new(),
                reason: match error.is_eof() {
                    true => "the JSON ends too early".to_owned(),
                    // A syntax error of serde_json quotes nothing of the text.
                    false => format!("not JSON: {error}"),
                },
            }),
        }
    }

    fn yaml(&self, strict: bool) -> Result<Value, Malformed> {
        let value = yaml::read(self.text, strict).and_then(|node| node.to_json());
        value.map_err(|error| Malformed {
            line: Some(error.place().line),
            path: Vec::new(),
            reason: error.problem.to_string(),
        })
    }

    /// The document as YAML nodes, which know their lines. JSON is YAML, too.
    pub(super) fn node(&self) -> Node {
        yaml::read(self.text, false).unwrap_or(Node::NULL)
    }
}

/// Whether the line begins with the separator `---`.
fn is_separator(line: &str) -> bool {
    let rest = line.strip_prefix("---");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Whether the line is neither blank nor only a comment, a directive or a separator.
fn is_content(line: &str) -> bool {
    let line = match is_separator(line) {
        true => line.get(3..).unwrap_or_default(),
        false => line,
    };
    let begins = line.trim_start().chars().next();
    begins.is_some_and(|first| first != '#') && !line.starts_with('%') && line.trim_end() != "..."
}
