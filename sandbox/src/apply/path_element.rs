use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};

use super::value_order::{compare, equal};

/// One step of a path into an object.
///
/// Its text form, as in conflict messages, is `.field`, `[name="a"]`, `[="a"]` or `[0]`; its key in `fieldsV1` is
/// `f:field`, `k:{"name":"a"}`, `v:"a"` or `i:0`.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field, or an entry of a map.
    Field(String),
    /// The list item with these keys, which are sorted by name.
    Key(Vec<(String, Value)>),
    /// The item of a set with this value.
    Value(Value),
    /// The list item at this index.
    Index(i64),
}

impl PathElement {
    /// The item with these keys, which may be in any order.
    pub fn key(mut keys: Vec<(String, Value)>) -> Self {
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        Self::Key(keys)
    }

    /// The step as a key of `fieldsV1`.
    pub fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => {
                let keys: Map<String, Value> = keys.iter().cloned().collect();
                format!("k:{}", Value::Object(keys))
            }
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// Reads a key of `fieldsV1`. Returns `None` if it is malformed.
    pub fn decode(text: &str) -> Option<Self> {
        let (tag, rest) = text.split_once(':')?;
        match tag {
            "f" => Some(Self::Field(rest.to_owned())),
            "k" => {
                let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
                (!keys.is_empty()).then(|| Self::key(keys.into_iter().collect()))
            }
            "v" => serde_json::from_str(rest).ok().map(Self::Value),
            "i" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                let mut pairs = a
                    .iter()
                    .zip(b)
                    .map(|(a, b)| a.0.cmp(&b.0).then_with(|| compare(&a.1, &b.1)));
                pairs
                    .find(|o| o.is_ne())
                    .unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Self::Value(a), Self::Value(b)) => compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => equal(a, b),
            _ => self.cmp(other).is_eq(),
        }
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (i, (name, value)) in keys.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_are_ordered_by_kind_and_keep_their_text_form() {
        let sorted = [
            PathElement::Field("z".into()),
            PathElement::key(vec![("port".into(), json!(80))]),
            PathElement::Value(json!("a")),
            PathElement::Index(0),
        ];
        assert!(sorted.is_sorted_by(|a, b| a < b));
        for element in sorted {
            let read = PathElement::decode(&element.encode());
            assert_eq!(read, Some(element));
        }
        assert_eq!(PathElement::decode("i:x"), None);
    }

    #[test]
    fn a_whole_number_is_the_same_item_in_both_forms() {
        let item = |value| PathElement::Value(value);
        assert_eq!(item(json!([1])), item(json!([1.0])));
        assert_ne!(item(json!([1])), item(json!([2])));
    }
}
