use std::fmt;

use super::Place;
use crate::resource::misfit;

/// Where a text is no YAML, or not that of what it should hold. It quotes nothing of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YamlError {
    /// Nowhere, until who knows the place has seen it.
    pub(super) place: Option<Place>,
    pub(crate) problem: Problem,
}

/// What is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It is no YAML, or there is more than one document.
    Syntax,
    /// A key that its mapping has already.
    Duplicate,
    /// It nests deeper than what reads it could follow.
    Depth,
    /// An alias without an anchor before it, within what it stands for, or of too much.
    Alias,
    /// A key that is a list, a mapping or nothing.
    Key,
    /// `<<` with something else than mappings.
    Merge,
    /// A tag that does not fit its value.
    Tag,
    /// Not finite, or not a number: JSON has no such.
    Number,
    /// It is not what the type expects, of which this tells.
    Misfit(String),
}

impl YamlError {
    pub(crate) fn place(&self) -> Place {
        self.place.unwrap_or(Place::START)
    }

    /// It was found there, if not more precisely before.
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
            Self::Duplicate => "the key is there twice",
            Self::Depth => "it nests deeper than 128 levels",
            Self::Alias => "the alias has no anchor before it, is part of it, or repeats too much",
            Self::Key => "the key is no text",
            Self::Merge => "what `<<` merges is no mapping",
            Self::Tag => "the tag does not fit the value",
            Self::Number => "JSON has no such number",
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
            problem: Problem::Misfit(misfit(&text.to_string())),
        }
    }
}
