use std::collections::{HashMap, HashSet};

use granit_parser::{ErrorKind, Event, Options, Parser, Span};

use super::{Content, Entry, Node, Place, Problem, Scalar, YamlError};

/// The most levels of nesting: serde_json's limit.
const DEEPEST: usize = 128;

/// The most bytes of memory for the copies that anchors and aliases make.
const MOST_REPEATED: usize = 64 << 20;

/// Parses the only document of a text. Returns [`Node::NULL`] if the text has none. If `strict`, a duplicate key is an
/// error.
///
/// # Errors
///
/// Returns a [`YamlError`] with each [`Problem`] but `Number` and `Misfit`, which later steps report.
pub(crate) fn read(text: &str, strict: bool) -> Result<Node, YamlError> {
    let mut composer = Composer {
        strict,
        open: Vec::new(),
        anchors: HashMap::new(),
        repeated: 0,
        root: None,
    };
    let mut options = Options::default();
    // Another crate may switch on the parser's feature for comments. It must not change what is read here.
    options.set_emit_comments(false);
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            Place::of(error.marker()).error(match error.kind() {
                ErrorKind::UnknownAnchor => Problem::Alias,
                ErrorKind::RecursionLimitExceeded => Problem::Depth,
                _ => Problem::Syntax,
            })
        })?;
        composer.take(event, span)?;
    }
    Ok(composer.root.unwrap_or(Node::NULL))
}

/// Makes a node from the parser's events.
struct Composer {
    strict: bool,
    /// The lists and mappings that have not ended, the outermost first.
    open: Vec<Open>,
    /// The complete values with an anchor.
    anchors: HashMap<usize, Node>,
    /// Bytes of the copies that anchors and aliases made.
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
        /// The key of the next value.
        key: Option<Key>,
        /// The keys so far; empty unless the composer is strict.
        known: HashSet<String>,
        has_merged: bool,
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
                repeat(&mut self.repeated, found, place)?;
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
                    known: HashSet::new(),
                    has_merged: false,
                };
                self.begin(place, anchor, content)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop();
                let open = open.ok_or_else(|| place.error(Problem::Syntax))?;
                let (place, content) = (open.place, open.content.end());
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

    /// Stores a complete node: as a key, a value, an item, or the document.
    fn ended(&mut self, node: Node, anchor: usize) -> Result<(), YamlError> {
        if anchor != 0 {
            repeat(&mut self.repeated, &node, node.place)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(OpenContent::List(items)) => items.push(node),
            Some(OpenContent::Map {
                entries,
                key,
                known,
                has_merged,
            }) => match key.take() {
                None => {
                    let new = Key::of(node)?;
                    if let Key::Text(place, text) = &new
                        && self.strict
                        && !known.insert(text.clone())
                    {
                        return Err(place.error(Problem::Duplicate));
                    }
                    *key = Some(new);
                }
                Some(Key::Text(place, key)) => entries.push(Entry {
                    place,
                    key,
                    value: node,
                }),
                Some(Key::Merge) => {
                    merge(entries, node)?;
                    *has_merged = true;
                }
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

/// Counts a copy of `node`, and refuses it past [`MOST_REPEATED`].
fn repeat(repeated: &mut usize, node: &Node, place: Place) -> Result<(), YamlError> {
    *repeated += node.size();
    match *repeated > MOST_REPEATED {
        true => Err(place.error(Problem::Alias)),
        false => Ok(()),
    }
}

/// Adds the entries of a mapping, or of each mapping in a list. The first mapping of a list takes precedence, so its
/// entries are added last.
fn merge(entries: &mut Vec<Entry>, node: Node) -> Result<(), YamlError> {
    let mappings = match node.content {
        Content::List(items) => items,
        _ => vec![node],
    };
    for mapping in mappings.into_iter().rev() {
        match mapping.content {
            Content::Map(merged) => entries.extend(merged),
            _ => return Err(mapping.place.error(Problem::Merge)),
        }
    }
    Ok(())
}

impl OpenContent {
    fn end(self) -> Content {
        match self {
            Self::List(items) => Content::List(items),
            Self::Map {
                mut entries,
                has_merged,
                ..
            } => {
                if has_merged {
                    keep_last(&mut entries);
                }
                Content::Map(entries)
            }
        }
    }
}

/// Keeps only the last entry of each key, whether it was written or merged.
fn keep_last(entries: &mut Vec<Entry>) {
    let mut known = HashSet::new();
    entries.reverse();
    entries.retain(|entry| known.insert(entry.key.clone()));
    entries.reverse();
}
