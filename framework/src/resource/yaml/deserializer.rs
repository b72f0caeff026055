use serde::{
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess,
        Visitor,
    },
    forward_to_deserialize_any,
};

use super::{Content, Entry, Meaning, Node, Problem, YamlError, read};

/// Reads a text into a type. Where the type wants text, a number or truth value is taken as it is written.
///
/// # Errors
/// It is no YAML, a key is there twice, or a value does not fit: each with its place.
pub(crate) fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    let node = read(text, true)?;
    let place = node.place;
    T::deserialize(node).map_err(|error| error.at(place))
}

impl<'de> Deserializer<'de> for Node {
    type Error = YamlError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.content {
            Content::Scalar(scalar) => match scalar.meaning() {
                Meaning::Null => visitor.visit_unit(),
                Meaning::Bool(value) => visitor.visit_bool(value),
                Meaning::Int(value) => visitor.visit_i64(value),
                Meaning::Uint(value) => visitor.visit_u64(value),
                Meaning::Float(value) => visitor.visit_f64(value),
                Meaning::NotFinite => Err(self.place.error(Problem::Number)),
                Meaning::Text => visitor.visit_string(scalar.text),
            },
            Content::List(items) => visitor.visit_seq(Items(items.into_iter())),
            Content::Map(entries) => visitor.visit_map(Entries {
                entries: entries.into_iter(),
                value: None,
            }),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.content {
            Content::Scalar(scalar) if scalar.meaning() != Meaning::Null => {
                visitor.visit_string(scalar.text)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.is_nothing() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    /// A list is none: it would fill the fields in their order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        match self.content {
            Content::Map(entries) => visitor.visit_map(Entries {
                entries: entries.into_iter(),
                value: None,
            }),
            _ => {
                let text = "expected an object".to_owned();
                Err(self.place.error(Problem::Misfit(text)))
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map enum identifier ignored_any
    }
}

struct Items(std::vec::IntoIter<Node>);

impl<'de> SeqAccess<'de> for Items {
    type Error = YamlError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, YamlError> {
        let Some(item) = self.0.next() else {
            return Ok(None);
        };
        let place = item.place;
        let value = seed.deserialize(item).map_err(|error| error.at(place))?;
        Ok(Some(value))
    }
}

struct Entries {
    entries: std::vec::IntoIter<Entry>,
    value: Option<Node>,
}

impl<'de> MapAccess<'de> for Entries {
    type Error = YamlError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, YamlError> {
        let Some(entry) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some(entry.value);
        let key = seed.deserialize(entry.key.into_deserializer());
        key.map(Some)
            .map_err(|error: YamlError| error.at(entry.place))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, YamlError> {
        let value = self.value.take().unwrap_or(Node::NOTHING);
        let place = value.place;
        seed.deserialize(value).map_err(|error| error.at(place))
    }
}
