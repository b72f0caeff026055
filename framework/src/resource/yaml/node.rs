use serde_json::{Map, Number, Value};

use super::{Meaning, Place, Problem, Scalar, YamlError};
use crate::resource::Step;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Scalar(Scalar),
    List(Vec<Node>),
    /// In their order, with what was merged in at its place.
    Map(Vec<Entry>),
}

/// What a mapping holds, with the place of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) place: Place,
    pub(crate) key: String,
    pub(crate) value: Node,
}

impl Node {
    /// What a text without a document holds.
    pub(crate) const NOTHING: Self = Self {
        place: Place::START,
        content: Content::Scalar(Scalar::NOTHING),
    };

    /// Whether nothing stands there: `~`, `null`, or no text without quotes.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(&self.content, Content::Scalar(scalar) if scalar.meaning() == Meaning::Null)
    }

    /// As JSON. Of a key that is there twice the last counts.
    ///
    /// # Errors
    /// A number that JSON has not.
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

    /// The line of what is at `path`; of what is not there, that of what it should be in.
    pub(crate) fn line_of(&self, path: &[Step]) -> usize {
        let (mut place, mut node) = (self.place, self);
        for step in path {
            let next = match (&node.content, step) {
                (Content::Map(entries), Step::Key(key)) => {
                    let entry = entries.iter().rfind(|entry| entry.key == *key);
                    entry.map(|entry| (entry.place, &entry.value))
                }
                (Content::List(items), Step::Index(index)) => {
                    items.get(*index).map(|item| (item.place, item))
                }
                _ => None,
            };
            let Some(next) = next else { break };
            (place, node) = next;
        }
        place.line
    }

    /// How many lists and mappings stand within each other.
    pub(super) fn depth(&self) -> usize {
        let within = match &self.content {
            Content::Scalar(_) => return 0,
            Content::List(items) => items.iter().map(Self::depth).max(),
            Content::Map(entries) => entries.iter().map(|entry| entry.value.depth()).max(),
        };
        1 + within.unwrap_or(0)
    }

    /// About how many bytes a copy of it takes.
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
