use serde::{
    Deserializer,
    de::{
        DeserializeOwned, IntoDeserializer, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::Value;

use super::{
    DuplicateKeyPolicy, Wrong,
    tree::{Node, Tree, parse, written},
};

/// Reads a document as a type. Where it wants text, a number or a boolean is the text that is written; where it wants a
/// list or a map, nothing is an empty one.
///
/// # Errors
/// The document is no YAML, has a key twice, or is of another type.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    let tree = parse(text, DuplicateKeyPolicy::Error)?;
    T::deserialize(Typed { tree: &tree, text })
}

/// Reads a value of a tree.
#[derive(Clone, Copy)]
struct Typed<'a> {
    tree: &'a Tree,
    text: &'a str,
}

impl<'a> Typed<'a> {
    fn of(self, tree: &'a Tree) -> Self {
        Self { tree, ..self }
    }

    fn list<'de, V: Visitor<'de>>(self, items: &'a [Tree], visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_seq(SeqDeserializer::new(items.iter().map(|item| self.of(item))))
    }

    fn map<'de, V: Visitor<'de>>(
        self,
        pairs: &'a [(serde_saphyr::Spanned<String>, Tree)],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(key, value)| (key.value.as_str(), self.of(value)));
        visitor.visit_map(MapDeserializer::new(pairs))
    }

    /// What it says, whatever is wanted.
    fn any<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.tree.value {
            Node::Nothing => visitor.visit_unit(),
            Node::Plain(Some(Value::Bool(value))) => visitor.visit_bool(*value),
            Node::Plain(Some(Value::Number(number))) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (_, Some(number)) => visitor.visit_i64(number),
                _ => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Node::Plain(_) => Err(Wrong::default()),
            Node::Text(text) => visitor.visit_str(text),
            Node::List(items) => self.list(items, visitor),
            Node::Map(pairs) => self.map(pairs, visitor),
        }
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.tree.value {
            Node::Plain(_) => visitor.visit_str(written(self.tree, self.text).unwrap_or_default()),
            Node::Nothing => Err(Wrong::default()),
            _ => self.any(visitor),
        }
    }

    fn boolean<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let Node::Text(text) = &self.tree.value else {
            return self.any(visitor);
        };
        // In quotes.
        match text.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" | "on" => visitor.visit_bool(true),
            "n" | "no" | "false" | "off" => visitor.visit_bool(false),
            _ => Err(Wrong::default()),
        }
    }
}

macro_rules! at_its_place {
    ($($method:ident($($name:ident: $type:ty),*): $reader:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Wrong> {
            let read: fn(Self, V) -> Result<V::Value, Wrong> = $reader;
            read(self, visitor).map_err(|wrong| wrong.at(self.tree.referenced))
        }
    )*};
}

impl<'de> Deserializer<'de> for Typed<'_> {
    type Error = Wrong;

    at_its_place! {
        deserialize_any(): Self::any;
        deserialize_str(): Self::text;
        deserialize_string(): Self::text;
        deserialize_bool(): Self::boolean;
        deserialize_option(): |this, visitor| match this.tree.value {
            Node::Nothing => visitor.visit_none(),
            _ => visitor.visit_some(this),
        };
        deserialize_seq(): |this, visitor| match this.tree.value {
            Node::Nothing => this.list(&[], visitor),
            _ => this.any(visitor),
        };
        deserialize_map(): |this, visitor| match this.tree.value {
            Node::Nothing => this.map(&[], visitor),
            // A derived type would take a list of its fields.
            Node::List(_) => Err(Wrong::default()),
            _ => this.any(visitor),
        };
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_map(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        newtype_struct tuple tuple_struct enum identifier
    }
}

impl IntoDeserializer<'_, Wrong> for Typed<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
