use serde::de::{DeserializeSeed, IgnoredAny};
use serde_json::Value;

use super::unique::Unique;
use crate::resource::{
    Step,
    yaml::{self, Node},
};

/// The text of one document, and the line of the whole text that it begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// What is wrong with a document as a whole.
pub(super) struct Malformed {
    /// Counted from 1 within the document.
    pub(super) line: Option<usize>,
    pub(super) path: Vec<Step>,
    pub(super) reason: String,
}

impl<'a> Document<'a> {
    /// The documents of a text. What holds nothing but comments is none.
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
                    documents.extend(Self::within(text.get(start..before), line));
                }
                // What stands behind a separator belongs to the document.
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
            documents.extend(Self::within(text.get(start..), line));
        }
        documents
    }

    /// JSON objects may stand one after the other without anything between them.
    fn within(text: Option<&'a str>, line: usize) -> Vec<Self> {
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
            documents.push(whole.part(start, end));
            start = end;
            if start == whole.text.len() {
                break;
            }
        }
        documents
    }

    /// From the first letter after `start` to `end`.
    fn part(&self, start: usize, end: usize) -> Self {
        let text = self.text.get(start..end).unwrap_or_default();
        let blank = text.len() - text.trim_start().len();
        let before = self.text.get(..start + blank).unwrap_or_default();
        Self {
            text: text.trim_start(),
            line: self.line + before.matches('\n').count(),
        }
    }

    /// The first line with something in it, counted from 1 within the document.
    pub(super) fn first_line(&self) -> usize {
        let mut lines = self.text.lines();
        lines.position(is_content).map_or(1, |line| line + 1)
    }

    fn is_json(&self) -> bool {
        self.text.trim_start().starts_with('{')
    }

    /// The document as JSON. Of a key that is there twice the last counts, if `strict` does not
    /// make it an error.
    pub(super) fn parse(&self, strict: bool) -> Result<Value, Malformed> {
        if !self.is_json() {
            return self.yaml(strict);
        }
        match self.json() {
            Ok((value, duplicates)) => match duplicates.into_iter().next().filter(|_| strict) {
                Some(path) => Err(Malformed {
                    line: None,
                    path,
                    reason: "the key is there twice".into(),
                }),
                None => Ok(value),
            },
            // `{a: b}` is YAML; if it is not, it was meant to be JSON.
            Err(malformed) => self.yaml(strict).map_err(|_| malformed),
        }
    }

    fn json(&self) -> Result<(Value, Vec<Vec<Step>>), Malformed> {
        let mut inner = serde_json::Deserializer::from_str(self.text.trim_end());
        let mut duplicates = Vec::new();
        let value = Unique::new(&mut duplicates).deserialize(&mut inner);
        match value.and_then(|value| inner.end().map(|()| value)) {
            Ok(value) => Ok((value, duplicates)),
            Err(error) => Err(Malformed {
                line: Some(error.line()),
                path: Vec::new(),
                reason: match error.is_eof() {
                    true => "the JSON ends too early".to_owned(),
                    // The text is serde_json's own and quotes nothing.
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

    /// The document once more, for the lines of what is in it. JSON is YAML.
    pub(super) fn node(&self) -> Node {
        yaml::read(self.text, false).unwrap_or(Node::NOTHING)
    }
}

/// `---`, alone or with something behind it.
fn is_separator(line: &str) -> bool {
    let rest = line.strip_prefix("---");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// Neither blank nor a comment, a directive or a mere separator.
fn is_content(line: &str) -> bool {
    let line = match is_separator(line) {
        true => line.get(3..).unwrap_or_default(),
        false => line,
    };
    let begins = line.trim_start().chars().next();
    begins.is_some_and(|first| first != '#') && !line.starts_with('%') && line.trim_end() != "..."
}
