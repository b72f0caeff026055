use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::Spanned;

use crate::resource::Step;

/// The line of the value at `path` within a document of YAML or JSON, counted from 1; of what is
/// not there, that of what it should be in. The document is read once more for it.
pub(super) fn line_of(text: &str, path: &[Step]) -> usize {
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    let Ok(root) = serde_saphyr::from_str_with_options::<Spanned<Node>>(text, options) else {
        return 1;
    };
    let mut line = root.referenced.line();
    let mut node = root.value;
    for step in path {
        let next = match (node, step) {
            (Node::Map(pairs), Step::Key(wanted)) => {
                let mut pairs = pairs.into_iter();
                pairs
                    .find(|(key, _)| key.value == *wanted)
                    .map(|(key, value)| (key.referenced, value))
            }
            (Node::List(items), Step::Index(index)) => {
                let item = items.into_iter().nth(*index);
                item.map(|item| (item.referenced, item))
            }
            _ => None,
        };
        let Some((place, value)) = next else { break };
        line = place.line();
        node = value.value;
    }
    usize::try_from(line).unwrap_or(1).max(1)
}

/// A document of which only the places count.
enum Node {
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
    List(Vec<Spanned<Node>>),
    Leaf,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

macro_rules! leaf {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method<E: Error>(self, _: $type) -> Result<Node, E> {
            Ok(Node::Leaf)
        }
    )*};
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    leaf! {
        visit_bool: bool, visit_i64: i64, visit_i128: i128, visit_u64: u64, visit_u128: u128,
        visit_f64: f64, visit_str: &str, visit_bytes: &[u8],
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Node::Map(pairs))
    }
}
