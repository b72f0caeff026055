use serde_json::{Map, Number, Value};

use super::{Meaning, Place, Problem, Scalar, YamlError};
use crate::resource::PathStep;

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Scalar(Scalar),
    List(Vec<Node>),
    /// The entries in their order. Merged entries are at the place of their merge key.
    Map(Vec<Entry>),
}

/// An entry of a mapping. Its place is that of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) place: Place,
    pub(crate) key: String,
    pub(crate) value: Node,
}

impl Node {
    /// The value of a text without a document: null.
    pub(crate) const NULL: Self = Self {
        place: Place::START,
        content: Content::Scalar(Scalar::NULL),
    };

    /// Whether the value is null: `~`, `null`, or an empty text without quotes.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.content, Content::Scalar(scalar) if scalar.meaning() == Meaning::Null)
    }

    /// Converts the value to JSON. The last value of a duplicate key counts.
    ///
    /// # Errors
    ///
    /// Returns [`Problem::Number`] for a number that is infinite or NaN.
    pub(crate) fn to_json(&self) -> Result<Value, YamlError> {
        Ok(match &self.content {
            Content::Scalar(scalar) => match scalar.meaning() {
                Meaning::Null => Value::Null,
                Meaning::Bool(value) => value.into(),
                Meaning::Int(value) => value.into(),
                Meaning::Uint(value) => value.into(),
                Meaning::Float(value) => Number::from_f64(value).into(),
                Meaning::NotFinite => return Err(self.place.error(Problem::Number)),
                Meaning::Text => scalar.text.as_str().into(),
            },
            Content::List(items) => items.iter().map(Self::to_json).collect::<Result<_, _>>()?,
            Content::Map(entries) => {
                let mut map = Map::new();
                for entry in entries {
                    map.insert(entry.key.clone(), entry.value.to_json()?);
                }
                map.into()
            }
        })
    }

    /// The line of the value at `path`. If that value does not exist, this is the line of the innermost existing value on the path.
    pub(crate) fn line_of(&self, path: &[PathStep]) -> usize {
        let (mut place, mut node) = (self.place, self);
        for step in path {
            let next = match (&node.content, step) {
                (Content::Map(entries), PathStep::Key(key)) => {
                    let entry = entries.iter().rfind(|entry| entry.key == *key);
                    entry.map(|entry| (entry.place, &entry.value))
                }
                (Content::List(items), PathStep::Index(index)) => {
                    items.get(*index).map(|item| (item.place, item))
                }
                _ => None,
            };
            let Some(next) = next else { break };
            (place, node) = next;
        }
        place.line
    }

    /// The number of nested lists and mappings.
    pub(super) fn depth(&self) -> usize {
        let within = match &self.content {
            Content::Scalar(_) => return 0,
            Content::List(items) => items.iter().map(Self::depth).max(),
            Content::Map(entries) => entries.iter().map(|entry| entry.value.depth()).max(),
        };
        1 + within.unwrap_or(0)
    }

    /// About how many bytes a copy of the value takes.
    pub(super) fn size(&self) -> usize {
        let within = match &self.content {
            Content::Scalar(scalar) => scalar.text.len(),
            Content::List(items) => items.iter().map(Self::size).sum(),
            Content::Map(entries) => {
                let sizes = entries.iter().map(|entry| {
                    size_of::<Entry>() - size_of::<Self>() + entry.key.len() + entry.value.size()
                });
                sizes.sum()
            }
        };
        size_of::<Self>() + within
    }
}
