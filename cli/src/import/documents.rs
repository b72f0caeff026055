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
pub(super) fn read(text: &str) -> Result<Vec<Value>, Unreadable> {
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
            .take(event)
            .map_err(|text| Unreadable { line, text })?;
    }
    Ok(reader.documents)
}

#[derive(Default)]
struct Reader {
    documents: Vec<Value>,
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
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
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
            None => self.documents.push(value),
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
        assert_eq!(read(text).unwrap(), expected);
        assert_eq!(read("").unwrap(), [] as [Value; 0]);
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
