mod outline;
mod reader;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use reader::Reader;
use serde::{Deserialize, Serialize, de::DeserializeSeed};
use serde_json::{Value, error::Category, value::RawValue};

use super::{Codec, Unwritable, trail::at};
use crate::resource::{misfit, strip_position};

pub(crate) use outline::Outline;

/// JSON: the text is checked for UTF-8 once, outlined, and read along the outline.
///
/// What comes out has no spare room: the lists of a Pod would have 5 KB of it otherwise, since a reader that sees a list
/// for the first time has to let it grow. What has no outline is not JSON, or extreme: `serde_json` says what is wrong.
///
/// A value is stepped over at any depth of nesting. It is read if it is in the outermost 127 levels of the document.
#[derive(Clone, Copy)]
pub(crate) struct Json;

#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct JsonRaw<'a>(#[serde(borrow)] &'a RawValue);

impl<'a> From<JsonRaw<'a>> for &'a [u8] {
    fn from(raw: JsonRaw<'a>) -> Self {
        raw.0.get().as_bytes()
    }
}

impl Codec for Json {
    type Raw<'de> = JsonRaw<'de>;

    fn read<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        seed: S,
    ) -> Result<S::Value, String> {
        OUTLINE.with(|outline| match outline.try_borrow_mut() {
            Ok(mut outline) => read(bytes, seed, &mut outline),
            // A type that reads JSON while it is read.
            Err(_) => read(bytes, seed, &mut Outline::default()),
        })
    }

    fn outline(self, bytes: &[u8], outline: &mut Outline) {
        outline.make(bytes);
    }

    fn read_along<'de, S: DeserializeSeed<'de>>(
        self,
        bytes: &'de [u8],
        outline: &Outline,
        seed: S,
    ) -> Result<S::Value, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
        let Some(marks) = outline.marks() else {
            return Err(not_outlined(text));
        };
        let mut reader = Reader::new(text, marks);
        seed.deserialize(&mut reader).map_err(|error| {
            // Its position is one in a part of the text.
            let what = reason(&error, strip_position(&error.to_string()));
            reader.into_trail().lead_to(what)
        })
    }

    fn write<T: Serialize + ?Sized>(self, value: &T) -> Result<Vec<u8>, Unwritable> {
        serde_json::to_vec(value).map_err(|_| Unwritable)
    }
}

thread_local! {
    /// The memory of the last one.
    static OUTLINE: RefCell<Outline> = RefCell::default();
}

fn read<'de, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    seed: S,
    outline: &mut Outline,
) -> Result<S::Value, String> {
    outline.make(bytes);
    let value = Json.read_along(bytes, outline, seed);
    outline.shrink();
    value
}

/// What is wrong with a text that has no outline. It is read for nothing else, so that no type is compiled for it.
#[cold]
fn not_outlined(text: &str) -> String {
    if text.len() > Outline::LARGEST {
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
        // A point alone is the root, and a question mark a key that breaks off.
        Err((path, error)) => at(
            path.trim_end_matches(['.', '?']),
            reason(&error, &error.to_string()),
        ),
    }
}

fn reason(error: &serde_json::Error, text: &str) -> String {
    match error.classify() {
        Category::Data => misfit(text),
        Category::Eof => "the JSON ends too early".to_owned(),
        // A syntax error's text is from serde_json itself and quotes nothing.
        Category::Syntax | Category::Io => format!("not JSON: {text}"),
    }
}
