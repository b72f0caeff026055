use serde::{
    de::{
        DeserializeOwned, Deserializer, IntoDeserializer, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

use super::{Content, Meaning, Node, Problem, YamlError, read};

/// Reads a text into a type. If the type expects a string, a number or boolean is read as the text that is written.
///
/// # Errors
///
/// Returns an error with its place if the text is not YAML, if a key is duplicate, or if a value does not fit the type.
pub(crate) fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, YamlError> {
    T::deserialize(read(text, true)?)
}

impl IntoDeserializer<'_, YamlError> for Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Each error gets the place of the innermost node.
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
            Content::List(items) => visitor.visit_seq(SeqDeserializer::new(items.into_iter())),
            Content::Map(entries) => {
                let entries = entries.into_iter().map(|entry| (entry.key, entry.value));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        }
        .map_err(|error| error.at(self.place))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.content {
            Content::Scalar(scalar) if scalar.meaning() != Meaning::Null => visitor
                .visit_string(scalar.text)
                .map_err(|error: YamlError| error.at(self.place)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match self.is_null() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    /// Refuses a list, which serde would otherwise read into the fields in their order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        match self.content {
            Content::Map(_) => self.deserialize_any(visitor),
            _ => Err(self
                .place
                .error(Problem::Misfit("expected an object".to_owned()))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map enum identifier ignored_any
    }
}
