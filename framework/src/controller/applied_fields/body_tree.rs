use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

/// The body of an apply, taken apart. Unlike a [`Value`] it borrows texts, and its fields are sorted in any program.
pub(super) enum BodyTree<'a> {
    Object(BTreeMap<Cow<'a, str>, BodyTree<'a>>),
    List(Vec<BodyTree<'a>>),
    Text(Cow<'a, str>),
    /// A number, a truth value, or null.
    Other(Value),
}

/// With its feature `arbitrary_precision`, which any crate of a program can switch on, serde_json gives a number as an object with this one
/// field, which has the digits.
const NUMBER: &str = "$serde_json::private::Number";

impl<'a> BodyTree<'a> {
    pub(super) fn read(body: &'a [u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(body)
    }

    /// The field of that name, if this is an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.get(name),
            _ => None,
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Other(Value::Null))
    }

    pub(super) fn to_json(&self) -> String {
        // What was read from JSON can be written as JSON.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Serialize for BodyTree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(fields) => fields.serialize(serializer),
            Self::List(items) => serializer.collect_seq(items),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for BodyTree<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyValue;

        impl<'de> Visitor<'de> for AnyValue {
            type Value = BodyTree<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_bool<E>(self, value: bool) -> Result<BodyTree<'de>, E> {
                Ok(BodyTree::Other(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<BodyTree<'de>, E> {
                Ok(BodyTree::Other(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<BodyTree<'de>, E> {
                Ok(BodyTree::Other(value.into()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<BodyTree<'de>, E> {
                Ok(BodyTree::Other(value.into()))
            }

            fn visit_str<E>(self, value: &str) -> Result<BodyTree<'de>, E> {
                Ok(BodyTree::Text(value.to_owned().into()))
            }

            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<BodyTree<'de>, E> {
                Ok(BodyTree::Text(value.into()))
            }

            fn visit_unit<E>(self) -> Result<BodyTree<'de>, E> {
                Ok(BodyTree::Other(Value::Null))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<BodyTree<'de>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(BodyTree::List(items))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BodyTree<'de>, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some(BodyTree::Text(name)) = map.next_key()? {
                    fields.insert(name, map.next_value()?);
                }
                if let (1, Some(BodyTree::Text(digits))) = (fields.len(), fields.get(NUMBER))
                    && let Ok(number) = serde_json::from_str(digits)
                {
                    return Ok(BodyTree::Other(Value::Number(number)));
                }
                Ok(BodyTree::Object(fields))
            }
        }

        deserializer.deserialize_any(AnyValue)
    }
}

#[cfg(test)]
mod tests {
    use serde::de::value::MapDeserializer;

    use super::*;

    #[test]
    fn a_number_is_the_same_if_serde_json_gives_its_digits() {
        let read = |fields: &[(&'static str, &'static str)]| {
            let map: MapDeserializer<'_, _, serde_json::Error> =
                MapDeserializer::new(fields.iter().copied());
            BodyTree::deserialize(map).unwrap().to_json()
        };
        assert_eq!(read(&[(NUMBER, "80")]), "80");
        assert!(read(&[(NUMBER, "80"), ("a", "b")]).contains(NUMBER));
        assert!(read(&[(NUMBER, "true")]).contains(NUMBER));
    }

    #[test]
    fn the_last_of_two_fields_with_one_name_counts_and_texts_keep_their_escapes() {
        let tree = BodyTree::read(br#"{"b":[1.5,null,{}],"a":1,"a":"\u0022\\"}"#).unwrap();
        assert_eq!(tree.to_json(), r#"{"a":"\"\\","b":[1.5,null,{}]}"#);
        assert!(BodyTree::read(b"{").is_err());
    }
}
