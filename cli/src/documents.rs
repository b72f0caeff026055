//! The documents of a file in YAML or JSON.

use std::collections::HashMap;

use granit_parser::{Event, Options, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

/// The most levels of nesting.
const DEEPEST: usize = 128;

/// The most values that aliases copy.
const MOST_COPIED: usize = 1_000_000;

/// Why a text cannot be read: the line, and what is wrong there.
#[derive(Debug, thiserror::Error, PartialEq)]
#[error("line {line}: {text}")]
pub(crate) struct Unreadable {
    line: usize,
    text: String,
}

/// The documents of the text.
///
/// # Errors
/// The text is neither YAML nor JSON, or it uses what a definition does not need: merge keys, tags, or keys that are no texts.
pub(crate) fn read(text: &str) -> Result<Vec<Document>, Unreadable> {
    let mut options = Options::default();
    // Another crate may switch on the parser's feature for comments.
    options.set_emit_comments(false);
    let mut reader = Reader::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| Unreadable {
            line: error.marker().line(),
            text: format!("this is neither YAML nor JSON: {}", error.info()),
        })?;
        let line = span.start.line();
        reader
            .take(event, line)
            .map_err(|text| Unreadable { line, text })?;
    }
    Ok(reader.documents)
}

/// A document of a text.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) value: Value,
    /// The lines of its values by their paths, such as `spec.versions[0].name`.
    lines: HashMap<String, usize>,
}

impl Document {
    /// The line of the definition of this name, and in it that of the field, or of the innermost value around the field that the text has.
    pub(crate) fn line_of(&self, definition: &str, field: &str) -> Option<usize> {
        let path = path_of(&self.value, definition)?;
        let dot = if path.is_empty() { "" } else { "." };
        let mut path = format!("{path}{dot}{field}");
        loop {
            if let Some(line) = self.lines.get(&path) {
                return Some(*line);
            }
            match path.rfind(['.', '[']) {
                Some(end) => path.truncate(end),
                None => return self.lines.values().min().copied(),
            }
        }
    }
}

/// Without lines, for what is not read from a text.
impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Self {
            value,
            lines: HashMap::new(),
        }
    }
}

/// The path of a definition in an object, which may be a list.
fn path_of(object: &Value, name: &str) -> Option<String> {
    if object["metadata"]["name"] == name {
        return Some(String::new());
    }
    let items = object["items"].as_array().into_iter().flatten();
    let mut items = items.enumerate();
    items.find_map(|(index, item)| {
        let inner = path_of(item, name)?;
        let dot = if inner.is_empty() { "" } else { "." };
        Some(format!("items[{index}]{dot}{inner}"))
    })
}

#[derive(Default)]
struct Reader {
    documents: Vec<Document>,
    /// The lines of the document that has not ended.
    lines: HashMap<String, usize>,
    /// The lists and mappings that have not ended, the outermost first.
    open: Vec<(Open, usize)>,
    anchors: HashMap<usize, Value>,
    copied: usize,
}

enum Open {
    List(Vec<Value>),
    /// The entries, and the key of the next value.
    Map(Map<String, Value>, Option<String>),
}

impl Reader {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), String> {
        let ends = matches!(event, Event::SequenceEnd | Event::MappingEnd);
        if !ends && matches!(self.open.last(), Some((Open::List(_), _))) {
            self.lines.entry(self.path()).or_insert(line);
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if tag.is_some() {
                    return Err("a tag is not known here: remove it".into());
                }
                let value = match style {
                    ScalarStyle::Plain => meaning(&text),
                    _ => Value::String(text.into_owned()),
                };
                // A key is a text, also if it looks like a number.
                if let Some((Open::Map(_, key @ None), _)) = self.open.last_mut() {
                    let text = match &value {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    if text == "<<" {
                        return Err("a merge key is not known here: write the fields out".into());
                    }
                    *key = Some(text);
                    self.lines.entry(self.path()).or_insert(line);
                    return Ok(());
                }
                self.ended(value, anchor)
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned();
                let value =
                    value.ok_or("the alias has no anchor before it: write the value out")?;
                self.copied += count(&value);
                if self.copied > MOST_COPIED {
                    return Err(
                        "aliases copy more than a million values: write the values out".into(),
                    );
                }
                self.ended(value, 0)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(Open::List(Vec::new()), anchor),
            Event::MappingStart(_, anchor, _) => self.begin(Open::Map(Map::new(), None), anchor),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some((Open::List(items), anchor)) => self.ended(Value::Array(items), anchor),
                Some((Open::Map(entries, _), anchor)) => self.ended(Value::Object(entries), anchor),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The path of the next value.
    fn path(&self) -> String {
        let mut path = String::new();
        for (open, _) in &self.open {
            match open {
                Open::List(items) => path.push_str(&format!("[{}]", items.len())),
                Open::Map(_, key) => {
                    let dot = if path.is_empty() { "" } else { "." };
                    path.push_str(dot);
                    path.push_str(key.as_deref().unwrap_or_default());
                }
            }
        }
        path
    }

    fn begin(&mut self, open: Open, anchor: usize) -> Result<(), String> {
        if matches!(self.open.last(), Some((Open::Map(_, None), _))) {
            return Err("the key of an entry is a list or a mapping: write a text".into());
        }
        if self.open.len() == DEEPEST {
            return Err(format!("there are more than {DEEPEST} levels of nesting"));
        }
        self.open.push((open, anchor));
        Ok(())
    }

    fn ended(&mut self, value: Value, anchor: usize) -> Result<(), String> {
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut() {
            None => self.documents.push(Document {
                value,
                lines: std::mem::take(&mut self.lines),
            }),
            Some((Open::List(items), _)) => items.push(value),
            Some((Open::Map(entries, key), _)) => {
                let key = key
                    .take()
                    .ok_or("the key of an entry is an alias: write a text")?;
                if entries.insert(key.clone(), value).is_some() {
                    return Err(format!("the key `{key}` stands here a second time"));
                }
            }
        }
        Ok(())
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(entries) => 1 + entries.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// The value of a text without quotes.
fn meaning(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return true.into(),
        "false" | "False" | "FALSE" => return false.into(),
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return text.into();
    }
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    if let Ok(number) = text.parse::<u64>() {
        return number.into();
    }
    // Rust reads `infinity`, but that begins with no digit.
    let number = text.parse::<f64>().ok().and_then(Number::from_f64);
    number.map_or_else(|| text.into(), Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_read_as_json() {
        let text = "a: &x [1, -2, 1.5, '1', yes, ~, true]\nb: *x\n1: |\n  two\n  lines\n---\n{\"c\": \"d\"}\n";
        let list = json!([1, -2, 1.5, "1", "yes", null, true]);
        let expected = [
            json!({"a": list, "b": list, "1": "two\nlines\n"}),
            json!({"c": "d"}),
        ];
        let read = |text| read(text).unwrap().into_iter().map(|one| one.value);
        assert_eq!(read(text).collect::<Vec<_>>(), expected);
        assert_eq!(read("").count(), 0);
    }

    #[test]
    fn each_field_has_its_line_in_the_whole_text() {
        let text = "metadata: {name: a}\n---\nitems:\n- metadata:\n    name: b\n- metadata:\n    name: c\n  spec:\n    versions:\n    - name: v1\n      served: 1\n";
        let documents = read(text).unwrap();
        assert_eq!(documents[0].line_of("a", "metadata.name"), Some(1));
        assert_eq!(documents[0].line_of("c", "spec"), None);
        for (name, field, line) in [
            ("c", "spec.versions[0].served", 11),
            ("c", "spec.versions[1].served", 9),
            ("c", "spec.scope", 8),
            ("b", "spec.scope", 4),
        ] {
            assert_eq!(documents[1].line_of(name, field), Some(line), "{field}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let deep = "[".repeat(200);
        let bomb = (1..9).fold("a0: &a0 [x]\n".to_owned(), |text, at| {
            let last = at - 1;
            text + &format!(
                "a{at}: &a{at} [{}]\n",
                vec![format!("*a{last}"); 10].join(", ")
            )
        });
        for (text, line, part) in [
            ("a: 1\nb: [", 2, "neither YAML nor JSON"),
            ("a: 1\na: 2", 2, "second time"),
            ("a:\n  <<: {}", 2, "merge key"),
            ("? [a]\n: b", 1, "the key"),
            ("a: !x y", 1, "tag"),
            (&deep, 1, ""),
            (&bomb, 7, "million"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.text.contains(part), "{error}");
            assert!(error.line.abs_diff(line) <= 1, "{error}");
        }
    }
}
