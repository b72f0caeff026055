use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

/// The body of an apply, taken apart. Unlike a [`Value`] it borrows texts, and its fields are sorted.
pub(super) enum BodyTree<'a> {
    Object(Vec<(Cow<'a, str>, BodyTree<'a>)>),
    List(Vec<BodyTree<'a>>),
    Text(Cow<'a, str>),
    /// A number, a truth value, or null.
    Other(Value),
}

/// The name by which serde_json gives numbers as objects, if any crate of the program asks it for their digits.
const NUMBER: &str = "$serde_json::private::Number";

/// The name of a field, which is borrowed unless it has escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> BodyTree<'a> {
    pub(super) fn read(body: &'a [u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(body)
    }

    /// The field of that name, if this is an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else {
            return None;
        };
        let place = fields.binary_search_by(|(field, _)| (**field).cmp(name));
        Some(&fields.get(place.ok()?)?.1)
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
            Self::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (name, value)))
            }
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
                let mut fields = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    let value = map.next_value()?;
                    if name == NUMBER
                        && let BodyTree::Text(digits) = &value
                        && let Ok(number) = serde_json::from_str(digits)
                    {
                        return Ok(BodyTree::Other(number));
                    }
                    fields.push((name, value));
                }
                fields.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
                Ok(BodyTree::Object(fields))
            }
        }

        deserializer.deserialize_any(AnyValue)
    }
}
