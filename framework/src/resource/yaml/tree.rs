use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Number, Value};
use serde_saphyr::{
    Spanned,
    options::{DuplicateKeyPolicy, NonFiniteFloatPolicy},
};

use super::Wrong;

/// A value with the place that it stands at.
pub(crate) type Tree = Spanned<Node>;

/// What is written there, and below it.
pub(crate) enum Node {
    Nothing,
    /// A boolean or a number; `None` if JSON has no such number.
    Plain(Option<Value>),
    Text(String),
    List(Vec<Tree>),
    /// In the order of the text.
    Map(Vec<(Spanned<String>, Tree)>),
}

/// So deep may lists and maps lie in each other. In a debug build 64 of them do not fit on the stack of a runtime's thread.
const DEEPEST: usize = 48;

/// Reads a document.
///
/// # Errors
/// It is no YAML, is nested too deeply, or a key is there twice and `twice` makes that an error.
pub(crate) fn parse(text: &str, twice: DuplicateKeyPolicy) -> Result<Tree, Wrong> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: DEEPEST },
        duplicate_keys: twice,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(Wrong::from)
}

/// How a number or a boolean is written in `source`: `0.10`, `010`.
pub(crate) fn written<'a>(tree: &Tree, source: &'a str) -> Option<&'a str> {
    let span = tree.defined.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let length = usize::try_from(span.byte_len()?).ok()?;
    let written = source.get(start..start + length)?.trim();
    (!written.is_empty()).then_some(written)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

macro_rules! plain {
    ($($method:ident: $type:ty),* $(,)?) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<Node, E> {
            Ok(Node::Plain(Some(value.into())))
        }
    )*};
}

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    plain! { visit_bool: bool, visit_i64: i64, visit_u64: u64 }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Plain(Number::from_f64(value).map(Value::Number)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
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
