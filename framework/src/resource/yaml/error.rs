use std::fmt;

use crate::resource::decode_reason;

/// Why a text is not YAML, or does not fit a type, and where. It never quotes the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YamlError {
    /// `None` until the error reaches a caller that knows the place.
    pub(super) place: Option<Place>,
    pub(crate) problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The text is not YAML, or has more than one document.
    Syntax,
    /// The mapping has the key already.
    Duplicate,
    /// The text nests deeper than 128 levels.
    Depth,
    /// An alias has no anchor before it, is part of its own anchor, or repeats too much.
    Alias,
    /// A key is a list, a mapping, null, or a number that JSON does not have.
    Key,
    /// The value of `<<` is neither a mapping nor a list of mappings.
    Merge,
    /// A tag does not fit its value.
    Tag,
    /// The number is infinite or NaN, which JSON does not have.
    Number,
    /// The value does not fit the type. The text says what was expected.
    Misfit(String),
}

impl YamlError {
    pub(crate) fn place(&self) -> Place {
        self.place.unwrap_or(Place::START)
    }

    /// Sets the place, unless a more precise one is set already.
    pub(super) fn at(self, place: Place) -> Self {
        Self {
            place: self.place.or(Some(place)),
            ..self
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "not YAML: check indentation, quotes and brackets",
            Self::Duplicate => "duplicate key: remove all but one",
            Self::Depth => "nested deeper than 128 levels",
            Self::Alias => {
                "the alias has no anchor before it, is part of its own anchor, or repeats too much"
            }
            Self::Key => "the key must be text",
            Self::Merge => "the value of `<<` must be a mapping or a list of mappings",
            Self::Tag => "the tag does not fit the value",
            Self::Number => "JSON does not have this number",
            Self::Misfit(text) => text,
        })
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place();
        write!(f, "line {line}, column {column}: {}", self.problem)
    }
}

impl std::error::Error for YamlError {}

impl serde::de::Error for YamlError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self {
            place: None,
            problem: Problem::Misfit(decode_reason(&text.to_string())),
        }
    }
}

/// A place in a text: line and column, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Place {
    /// The beginning of a text.
    pub(super) const START: Self = Self { line: 1, column: 1 };

    pub(super) fn of(marker: &granit_parser::Marker) -> Self {
        Self {
            line: marker.line(),
            column: marker.col() + 1,
        }
    }

    /// An error at this place.
    pub(super) fn error(self, problem: Problem) -> YamlError {
        YamlError {
            place: Some(self),
            problem,
        }
    }
}
