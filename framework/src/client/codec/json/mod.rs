//! JSON, read with an index.
//!
//! | file | holds |
//! | --- | --- |
//! | `json_index.rs` | [`JsonIndex`]: where the values of a text begin and end |
//! | `reader.rs` | the `serde::Deserializer` that reads a text with its index |
//!
//! `serde_json` alone would need less code. The index gains memory and time: a reader that knows the length of a list
//! gives it its final capacity, so that a cached Pod takes 23 KB in place of 29 KB, and values that a type does not want
//! are skipped at once.
//!
//! # What it relies on
//!
//! A type may hold a `serde_json::value::RawValue`, and this module reads into them itself. How a `RawValue` asks a
//! `Deserializer` for its text is no public interface of `serde_json`, whose versions are not pinned:
//!
//! 1. It calls `deserialize_newtype_struct` with the name `$serde_json::private::RawValue`.
//! 2. It gives it a visitor that accepts a map of one entry: the same name as a key, and the text as a string. `&RawValue`
//!    borrows that string, and `Box<RawValue>` copies it.
//!
//! The test `serde_json_asks_for_a_raw_value_as_the_reader_expects` checks this, and says what to change if it fails.

mod json_index;
#[cfg(test)]
mod raw_value_test;
mod reader;
#[cfg(test)]
mod tests;

use std::{cell::RefCell, fmt, ops::Range};

use json_index::Mark;
use reader::{PART, Reader};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeSeed, Error, SeqAccess, Visitor},
};
use serde_json::{Value, error::Category};

use super::{Codec, Cuts, Format, Unwritable, WriteCodec, error_path::at};
use crate::resource::{decode_reason, strip_position};

pub(crate) use json_index::JsonIndex;
pub(super) use reader::RAW;

/// JSON: the text is checked for UTF-8 once, indexed, and read with the index.
///
/// The decoded values have no spare capacity. Otherwise the lists of a Pod would have 5 KB of it, because a reader that
/// does not know the length of a list must let it grow. A text without an index is not JSON, or extreme; `serde_json`
/// then reports the error.
///
/// A value is skipped at any depth of nesting. It is read if it is in the outermost 127 levels of the document.
#[derive(Clone, Copy)]
pub(crate) struct Json;

/// A value within a text that has an index.
#[derive(Clone, Copy)]
pub(crate) struct JsonPlace<'de, 'a> {
    text: &'de str,
    marks: &'a [Mark],
    /// The number of the first mark of the value.
    first: usize,
}

impl<'de, 'a> JsonPlace<'de, 'a> {
    /// The whole text.
    ///
    /// # Errors
    /// The bytes are not UTF-8, or have no index.
    fn of(bytes: &'de [u8], json_index: &'a JsonIndex) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
        let marks = json_index.marks().ok_or_else(|| not_indexed(text))?;
        Ok(Self {
            text,
            marks,
            first: 0,
        })
    }

    fn read<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, String> {
        let mut reader = Reader::new(self.text, self.marks, self.first);
        seed.deserialize(&mut reader).map_err(|error| {
            // The position in its text is one in a part of the document.
            let what = reason(&error, strip_position(&error.to_string()));
            reader.into_error_path().describe(what)
        })
    }
}

/// A part of a text that has an index.
pub(crate) struct JsonRaw<'a> {
    text: &'a str,
    /// The number of its first mark.
    first: usize,
}

impl<'de> Deserialize<'de> for JsonRaw<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;

        impl<'de> Visitor<'de> for Parts {
            type Value = JsonRaw<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a part of a text")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let (first, text) = (parts.next_element()?, parts.next_element()?);
                let parts = Option::zip(first, text);
                let (first, text) = parts.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                Ok(JsonRaw { text, first })
            }
        }

        deserializer.deserialize_newtype_struct(PART, Parts)
    }
}

/// The first member of an object and what follows it, if its value is a text without escapes.
fn leading_text(bytes: &[u8]) -> Option<((&str, &str), &[u8])> {
    let (name, rest) = text_without_escapes(bytes)?;
    let (value, rest) = text_without_escapes(rest.strip_prefix(b":")?)?;
    Some(((name, value), rest))
}

fn text_without_escapes(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let text = bytes.strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', text)?;
    let (text, rest) = text.split_at_checked(end)?;
    Some((std::str::from_utf8(text).ok()?, rest.strip_prefix(b"\"")?))
}

impl Codec for Json {
    type Raw<'de> = JsonRaw<'de>;

    fn format(self) -> Format {
        Format::Json
    }

    fn part<'de>(self, raw: Self::Raw<'de>) -> (Self, &'de [u8]) {
        (self, raw.text.as_bytes())
    }

    fn types_of(self, bytes: &[u8]) -> Option<[&str; 2]> {
        let (first, rest) = leading_text(bytes.strip_prefix(b"{")?)?;
        let (second, _) = leading_text(rest.strip_prefix(b",")?)?;
        match (first, second) {
            (("apiVersion", api_version), ("kind", kind))
            | (("kind", kind), ("apiVersion", api_version)) => Some([api_version, kind]),
            _ => None,
        }
    }

    fn cuts(self, _: &[u8], _: Range<usize>, part: Range<usize>) -> Cuts {
        Cuts::new([(0..0, &[]), (part, b"null")])
    }

    fn object_of_metadata(self, metadata: &[u8]) -> Vec<u8> {
        [b"{\"metadata\":", metadata, b"}"].concat()
    }

    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String> {
        indexed(bytes, |json_index| {
            JsonPlace::of(bytes, json_index)?.read(seed)
        })
    }

    fn json_index(self, bytes: &[u8], json_index: &mut JsonIndex) {
        json_index.make(bytes);
    }

    fn with_index<'de, T>(
        self,
        bytes: &'de [u8],
        made: Option<&JsonIndex>,
        function: impl FnOnce(Option<JsonPlace<'de, '_>>) -> T,
    ) -> T {
        let function = |json_index: &JsonIndex| function(JsonPlace::of(bytes, json_index).ok());
        match made {
            Some(json_index) => function(json_index),
            None => indexed(bytes, function),
        }
    }

    fn place_of<'de, 'a>(
        self,
        document: Option<JsonPlace<'de, 'a>>,
        part: &JsonRaw<'de>,
    ) -> Option<JsonPlace<'de, 'a>> {
        document.map(|document| JsonPlace {
            first: part.first,
            ..document
        })
    }

    fn read_at<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        place: Option<JsonPlace<'de, '_>>,
        seed: S,
    ) -> Result<S::Value, String> {
        match place {
            Some(place) => place.read(seed),
            None => self.read(bytes, seed),
        }
    }
}

impl WriteCodec for Json {
    fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Vec<u8>, Unwritable> {
        serde_json::to_vec(value).map_err(|_| Unwritable)
    }
}

thread_local! {
    /// Memory for the next index.
    static INDEX: RefCell<JsonIndex> = RefCell::default();
}

/// Calls `function` with the index of a text.
fn indexed<T>(bytes: &[u8], function: impl FnOnce(&JsonIndex) -> T) -> T {
    let make = |json_index: &mut JsonIndex| {
        json_index.make(bytes);
        let value = function(json_index);
        json_index.shrink();
        value
    };
    INDEX.with(|json_index| match json_index.try_borrow_mut() {
        Ok(mut json_index) => make(&mut json_index),
        // Within the reading of another text.
        Err(_) => make(&mut JsonIndex::default()),
    })
}

/// The error in a text that has no index. Reads it as a `Value`, so that no type is compiled for this.
#[cold]
fn not_indexed(text: &str) -> String {
    if text.len() > JsonIndex::LARGEST {
        return "it is 2 GiB or larger".to_owned();
    }
    let mut inner = serde_json::Deserializer::from_str(text);
    let wrong = serde_path_to_error::deserialize::<_, Value>(&mut inner)
        .map_err(|error| (error.path().to_string(), error.into_inner()))
        .and_then(|_| inner.end().map_err(|error| (String::new(), error)));
    match wrong {
        Ok(()) => "not JSON".to_owned(),
        Err((_, error)) if error.to_string().starts_with("recursion limit exceeded") => {
            "not JSON: the error lies within more than 127 lists and maps".to_owned()
        }
        // A single dot is the root, and a question mark is a key that breaks off.
        Err((path, error)) => at(
            path.trim_end_matches(['.', '?']),
            reason(&error, &error.to_string()),
        ),
    }
}

fn reason(error: &serde_json::Error, text: &str) -> String {
    match error.classify() {
        Category::Data => decode_reason(text),
        Category::Eof => "the JSON ends too early".to_owned(),
        // The text of a syntax error is from serde_json itself and quotes nothing.
        Category::Syntax | Category::Io => format!("not JSON: {text}"),
    }
}
