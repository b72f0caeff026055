use std::collections::{HashMap, HashSet};

use granit_parser::{ErrorKind, Event, Parser, Span};

use super::{Content, Entry, Node, Place, Problem, Scalar, YamlError};

/// serde_json reads no deeper.
const DEEPEST: usize = 128;

/// What aliases may repeat, in bytes of memory.
const MOST_REPEATED: usize = 64 << 20;

/// The document of a text; nothing, if it has none. If `strict`, a key that its mapping has already is an error.
///
/// # Errors
/// It is no YAML, has several documents, or makes no sense. Numbers that JSON has not are none here.
pub(crate) fn read(text: &str, strict: bool) -> Result<Node, YamlError> {
    let mut composer = Composer {
        strict,
        open: Vec::new(),
        anchors: HashMap::new(),
        repeated: 0,
        root: None,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            Place::of(error.marker()).error(match error.kind() {
                ErrorKind::UnknownAnchor => Problem::Alias,
                ErrorKind::RecursionLimitExceeded => Problem::Depth,
                _ => Problem::Syntax,
            })
        })?;
        composer.take(event, span)?;
    }
    Ok(composer.root.unwrap_or(Node::NOTHING))
}

/// Makes a node of the events of a parser.
struct Composer {
    strict: bool,
    /// The lists and mappings that have not ended, from the outermost.
    open: Vec<Open>,
    /// What has an anchor and has ended.
    anchors: HashMap<usize, Node>,
    /// How many bytes aliases have repeated.
    repeated: usize,
    root: Option<Node>,
}

/// A list or a mapping that has not ended.
struct Open {
    place: Place,
    anchor: usize,
    content: OpenContent,
}

enum OpenContent {
    List(Vec<Node>),
    Map {
        entries: Vec<Entry>,
        /// What the next value is of.
        key: Option<Key>,
        merged: Vec<Entry>,
    },
}

enum Key {
    Merge,
    Text(Place, String),
}

impl Composer {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        let place = Place::of(&span.start);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar::new(text, style, tag.as_deref());
                let scalar = scalar.ok_or_else(|| place.error(Problem::Tag))?;
                let content = Content::Scalar(scalar);
                self.ended(Node { place, content }, anchor)
            }
            Event::Alias(anchor) => {
                let found = self.anchors.get(&anchor);
                let found = found.ok_or_else(|| place.error(Problem::Alias))?;
                self.repeated += found.size();
                if self.repeated > MOST_REPEATED {
                    return Err(place.error(Problem::Alias));
                }
                if self.open.len() + found.depth() > DEEPEST {
                    return Err(place.error(Problem::Depth));
                }
                let content = found.content.clone();
                self.ended(Node { place, content }, 0)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(place, anchor, OpenContent::List(Vec::new()))
            }
            Event::MappingStart(_, anchor, _) => {
                let content = OpenContent::Map {
                    entries: Vec::new(),
                    key: None,
                    merged: Vec::new(),
                };
                self.begin(place, anchor, content)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop();
                let open = open.ok_or_else(|| place.error(Problem::Syntax))?;
                let content = open.content.end(self.strict)?;
                let place = open.place;
                self.ended(Node { place, content }, open.anchor)
            }
            Event::DocumentStart(..) if self.root.is_some() => Err(place.error(Problem::Syntax)),
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        place: Place,
        anchor: usize,
        content: OpenContent,
    ) -> Result<(), YamlError> {
        if self.open.len() == DEEPEST {
            return Err(place.error(Problem::Depth));
        }
        self.open.push(Open {
            place,
            anchor,
            content,
        });
        Ok(())
    }

    /// A node is complete: a key, a value, an item, or the document.
    fn ended(&mut self, node: Node, anchor: usize) -> Result<(), YamlError> {
        if anchor != 0 {
            self.repeated += node.size();
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(OpenContent::List(items)) => items.push(node),
            Some(OpenContent::Map {
                entries,
                key,
                merged,
            }) => match key.take() {
                None => *key = Some(Key::of(node)?),
                Some(Key::Text(place, key)) => entries.push(Entry {
                    place,
                    key,
                    value: node,
                }),
                Some(Key::Merge) => merge(merged, node)?,
            },
        }
        Ok(())
    }
}

impl Key {
    fn of(node: Node) -> Result<Self, YamlError> {
        match node.content {
            Content::Scalar(scalar) if scalar.is_merge() => Some(Self::Merge),
            Content::Scalar(scalar) => scalar.into_key().map(|key| Self::Text(node.place, key)),
            _ => None,
        }
        .ok_or_else(|| node.place.error(Problem::Key))
    }
}

/// Adds what a mapping, or each of a list of them, holds.
fn merge(merged: &mut Vec<Entry>, node: Node) -> Result<(), YamlError> {
    let mappings = match node.content {
        Content::List(items) => items,
        _ => vec![node],
    };
    for mapping in mappings {
        match mapping.content {
            Content::Map(entries) => merged.extend(entries),
            _ => return Err(mapping.place.error(Problem::Merge)),
        }
    }
    Ok(())
}

impl OpenContent {
    fn end(self, strict: bool) -> Result<Content, YamlError> {
        let (mut entries, merged) = match self {
            Self::List(items) => return Ok(Content::List(items)),
            Self::Map {
                entries, merged, ..
            } => (entries, merged),
        };
        if !strict && merged.is_empty() {
            return Ok(Content::Map(entries));
        }
        let mut known = HashSet::new();
        for entry in &entries {
            if !known.insert(entry.key.clone()) && strict {
                return Err(entry.place.error(Problem::Duplicate));
            }
        }
        // Of what is merged the first counts, and less than what stands there.
        let merged = merged.into_iter();
        entries.extend(merged.filter(|entry| known.insert(entry.key.clone())));
        Ok(Content::Map(entries))
    }
}
