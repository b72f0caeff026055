//! A JSON reader with the behaviour of Go's decoder: it reports duplicate names, its syntax errors have Go's texts, and what is no character is replaced.
//!
//! `syntax.rs` finds the position and text of a syntax error, and `unicode.rs` replaces what is no character.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use syntax::Scanner;

use crate::depth;

mod syntax;
mod unicode;

/// A parsed text.
#[derive(Debug, PartialEq)]
pub(crate) struct Document {
    pub(crate) value: Value,
    /// The paths of names that occur more than once in their object. The last value counts.
    pub(crate) duplicates: Vec<String>,
}

/// Reads a text.
///
/// # Errors
/// The syntax error, with the text of Go's decoder.
pub(crate) fn read(text: &[u8]) -> Result<Document, String> {
    if depth::of_text(text) > depth::LIMIT {
        return Err(Scanner::new(text).syntax_error().unwrap_or_default());
    }
    parse(text).or_else(|error| match Scanner::new(text).syntax_error() {
        Some(wrong) => Err(wrong),
        None => {
            let repaired = unicode::repaired(text).ok_or_else(|| error.to_string())?;
            parse(&repaired).map_err(|error| error.to_string())
        }
    })
}

/// The most levels of a text that is read from a slice.
const SHALLOW: usize = 64;

/// The most names that are reported as duplicate or unknown: the limit of Go's decoder.
pub(crate) const MOST: usize = 100;

fn parse(text: &[u8]) -> serde_json::Result<Document> {
    // On an error `serde_json` computes at each level where in a slice it is, by reading the slice from its beginning: in a deep text that
    // takes quadratic time. A reader, which is slower otherwise, counts lines as it reads.
    match depth::of_text(text) > SHALLOW {
        true => document(serde_json::Deserializer::from_reader(text)),
        false => document(serde_json::Deserializer::from_slice(text)),
    }
}

fn document<'de>(
    mut reader: serde_json::Deserializer<impl serde_json::de::Read<'de>>,
) -> serde_json::Result<Document> {
    let mut duplicates = Vec::new();
    reader.disable_recursion_limit();
    let seed = Seed {
        path: &Path::Root,
        duplicates: &mut duplicates,
    };
    let value = seed.deserialize(&mut reader)?;
    reader.end()?;
    Ok(Document { value, duplicates })
}

struct Seed<'a> {
    path: &'a Path<'a>,
    duplicates: &'a mut Vec<String>,
}

/// The path of a value.
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => out.write_str(name),
            Self::Field(parent, name) => write!(out, "{parent}.{name}"),
            Self::Item(parent, index) => write!(out, "{parent}[{index}]"),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        loop {
            let seed = Seed {
                path: &Path::Item(self.path, values.len()),
                duplicates: &mut *self.duplicates,
            };
            match items.next_element_seed(seed)? {
                Some(value) => values.push(value),
                None => return Ok(values.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let path = &Path::Field(self.path, &name);
            if self.duplicates.len() < MOST && fields.contains_key(&name) {
                let twice = path.to_string();
                if !self.duplicates.contains(&twice) {
                    self.duplicates.push(twice);
                }
            }
            let duplicates = &mut *self.duplicates;
            let value = entries.next_value_seed(Seed { path, duplicates })?;
            fields.insert(name, value);
        }
        Ok(fields.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicate_names_are_reported_and_the_last_value_counts() {
        let text = br#"{"a": 1, "b": [{"c": {"d": 1, "d": 2}}], "a": 3, "a": 4}"#;
        let document = read(text).unwrap();
        assert_eq!(document.value, json!({"a": 4, "b": [{"c": {"d": 2}}]}));
        assert_eq!(document.duplicates, ["b[0].c.d", "a"]);
    }

    #[test]
    fn a_hundred_duplicate_names_are_reported() {
        let twice: Vec<String> = (0..1000)
            .map(|name| format!("\"{name}\":1,\"{name}\":2"))
            .collect();
        let document = read(format!("{{{}}}", twice.join(",")).as_bytes()).unwrap();
        assert_eq!(document.value.as_object().unwrap().len(), 1000);
        let first: Vec<String> = (0..100).map(|name: usize| name.to_string()).collect();
        assert_eq!(document.duplicates, first);
    }

    #[test]
    fn an_error_in_a_deep_text_takes_no_longer_than_the_text() {
        let levels = depth::LIMIT - 1;
        let before = format!("{{\"before\":\"{}\",\"b\":", "x".repeat(100_000));
        let (start, end) = ("{\"a\":".repeat(levels), "}".repeat(levels + 1));
        let timed = |inner: &str, end: &str| {
            let text = [&before, &start, inner, end].concat();
            let begun = std::time::Instant::now();
            let is_read = crate::stack::large(|| read(text.as_bytes()).is_ok());
            (is_read, begun.elapsed())
        };
        let (is_read, usual) = timed("1", &end);
        assert!(is_read);
        let cut = ("", "");
        let half = ("\"\\ud800\"", &*end);
        let large = ("1e999,\"x\":1", &*end);
        for (inner, end) in [cut, half, large] {
            let (_, time) = timed(inner, end);
            assert!(time < 20 * usual, "{inner}: {time:?}, usually {usual:?}");
        }
    }

    #[test]
    fn what_is_no_character_is_replaced() {
        for (text, value) in [
            (
                &br#"{"\ud800": "\ud800"}"#[..],
                json!({"\u{fffd}": "\u{fffd}"}),
            ),
            (
                br#"["\udc00x", "\ud83d\ude00"]"#,
                json!(["\u{fffd}x", "\u{1f600}"]),
            ),
            (br#""\ud83d\ud83d\ude00""#, json!("\u{fffd}\u{1f600}")),
            (br#""\ud83d\n\\ud800""#, json!("\u{fffd}\n\\ud800")),
            (
                b"\"a\xff\xed\xa0\x80\"",
                json!("a\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ),
        ] {
            assert_eq!(read(text).unwrap().value, value);
        }
        assert!(read(br#""\ud8""#).is_err());
        assert!(read(b"1e999").is_err());
    }

    #[test]
    fn syntax_errors_have_the_texts_of_a_real_server() {
        for (text, syntax_error) in [
            ("", "unexpected end of JSON input"),
            ("{\"a\":", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            (
                "{a",
                "invalid character 'a' looking for beginning of object key string",
            ),
            ("{\"a\" 1", "invalid character '1' after object key"),
            (
                "{\"a\":1 2",
                "invalid character '2' after object key:value pair",
            ),
            ("[1 2", "invalid character '2' after array element"),
            ("[1]]", "invalid character ']' after top-level value"),
            (
                "tru}",
                "invalid character '}' in literal true (expecting 'e')",
            ),
            ("-x", "invalid character 'x' in numeric literal"),
            (
                "1.x",
                "invalid character 'x' after decimal point in numeric literal",
            ),
            (
                "1ex",
                "invalid character 'x' in exponent of numeric literal",
            ),
            ("\"\\q\"", "invalid character 'q' in string escape code"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            (
                "\u{9e}",
                "invalid character 'Â' looking for beginning of value",
            ),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap_err(), syntax_error, "{text}");
        }
        let deep = "[".repeat(10_001);
        assert_eq!(
            read(deep.as_bytes()).unwrap_err(),
            "invalid character '[' exceeded max depth"
        );
        let found = read(&[0x9e]).unwrap_err();
        assert_eq!(
            found,
            r"invalid character '\u009e' looking for beginning of value"
        );
    }
}
