use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::types::Type;
use crate::schema::rule_values::escape;

type Json = Map<String, Value>;

/// The largest request of a real server, in bytes. Sizes without a limit are estimated from it.
pub(super) const LARGEST_REQUEST: u64 = 3 * 1024 * 1024;

/// What a schema tells a rule about a value: its type, and how large it may be.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(super) kind: Type,
    /// The largest number of characters, items or entries; 0 for other values.
    pub(super) largest: u64,
    /// The fewest bytes of the value as JSON.
    pub(super) fewest_bytes: u64,
    /// The items of a list, or the values of a map.
    pub(super) inner: Option<Arc<Declared>>,
}

/// An object with fields.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) name: String,
    /// The fields by their names in CEL.
    pub(super) fields: BTreeMap<String, Declared>,
}

/// Each place in a schema has its own type, with a name that no other has.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Declared {
    /// What the schema of a rule says about `self`. Returns `None` if rules cannot see values of this schema.
    pub(in crate::schema) fn of_self(schema: &Json, is_resource: bool) -> Option<Self> {
        declare(schema, is_resource, "selfType")
    }

    /// A value of a known type and an unknown size.
    pub(super) fn of_type(kind: Type) -> Self {
        Self::simple(kind, 0, 0)
    }

    fn simple(kind: Type, largest: u64, fewest_bytes: u64) -> Self {
        Self {
            kind,
            largest,
            fewest_bytes,
            inner: None,
        }
    }

    /// How often a value may occur in a request.
    pub(in crate::schema) fn cardinality(&self) -> u64 {
        LARGEST_REQUEST / (self.fewest_bytes + 1)
    }
}

fn declare(schema: &Json, is_resource: bool, name: &str) -> Option<Declared> {
    let is_true = |key| schema.get(key) == Some(&Value::Bool(true));
    let max = |key| schema.get(key).and_then(Value::as_i64);
    let max = |key| max(key).map(|n| u64::try_from(n).unwrap_or(0));
    let text = |key| schema.get(key).and_then(Value::as_str).unwrap_or_default();
    // A character has up to four bytes.
    let max_length = || max("maxLength").map(|n| n.saturating_mul(4));
    if is_true("x-kubernetes-int-or-string") {
        let largest = max_length().unwrap_or(LARGEST_REQUEST - 2);
        return Some(Declared::simple(Type::Dyn, largest, 1));
    }
    match text("type") {
        "array" => {
            let items = schema.get("items")?.as_object()?;
            let items = declare(items, is_embedded(items), &format!("{name}.@idx"))?;
            let largest = (LARGEST_REQUEST - 2) / (items.fewest_bytes + 1);
            Some(Declared {
                kind: Type::list(items.kind.clone()),
                largest: max("maxItems").unwrap_or(largest),
                fewest_bytes: 2,
                inner: Some(Arc::new(items)),
            })
        }
        "object" => match schema
            .get("additionalProperties")
            .and_then(Value::as_object)
        {
            Some(values) => {
                let values = declare(values, is_embedded(values), &format!("{name}.@elem"))?;
                let largest = (LARGEST_REQUEST - 2) / (values.fewest_bytes + 6);
                Some(Declared {
                    kind: Type::map(Type::String, values.kind.clone()),
                    largest: max("maxProperties").unwrap_or(largest),
                    fewest_bytes: 2,
                    inner: Some(Arc::new(values)),
                })
            }
            None => Some(object(schema, is_resource, name)),
        },
        "string" => Some(string(
            schema,
            text("format"),
            max("maxLength"),
            max_length(),
        )),
        "boolean" => Some(Declared::simple(Type::Bool, 0, 4)),
        "number" => Some(Declared::simple(Type::Double, 0, 1)),
        "integer" => Some(Declared::simple(Type::Int, 0, 1)),
        _ => None,
    }
}

fn is_embedded(schema: &Json) -> bool {
    schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true))
}

fn string(schema: &Json, format: &str, length: Option<u64>, bytes: Option<u64>) -> Declared {
    match format {
        "byte" => Declared::simple(Type::Bytes, length.unwrap_or(LARGEST_REQUEST - 2), 2),
        "duration" => Declared::simple(Type::Duration, 32, 3),
        "date" => Declared::simple(Type::Timestamp, 12, 12),
        "date-time" => Declared::simple(Type::Timestamp, 32, 21),
        _ => {
            let allowed = schema.get("enum").and_then(Value::as_array);
            let longest = allowed
                .filter(|allowed| !allowed.is_empty())
                .map(|allowed| {
                    let lengths = allowed
                        .iter()
                        .filter_map(|v| Some(v.as_str()?.len() as u64));
                    lengths.max().unwrap_or(0)
                });
            let largest = bytes.or(longest).unwrap_or(LARGEST_REQUEST - 2);
            Declared::simple(Type::String, largest, 2)
        }
    }
}

fn object(schema: &Json, is_resource: bool, name: &str) -> Declared {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |property: &str| {
        required.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(property)))
    };
    let mut fields = BTreeMap::new();
    let mut fewest_bytes = 2;
    let mut add = |property: &str, field: Declared, has_default: bool| {
        if is_required(property) && !has_default {
            fewest_bytes += property.len() as u64 + field.fewest_bytes + 4;
        }
        if let Some(escaped) = escape(property) {
            fields.insert(escaped, field);
        }
    };
    for (property, schema) in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let Some(schema) = schema.as_object() else {
            continue;
        };
        if is_resource && matches!(property.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let inner = escape(property).unwrap_or_default();
        let field = declare(schema, is_embedded(schema), &format!("{name}.{inner}"));
        if let Some(field) = field {
            let has_default = schema.get("default").is_some_and(|v| !v.is_null());
            add(property, field, has_default);
        }
    }
    if is_resource {
        let text = || Declared::simple(Type::String, LARGEST_REQUEST - 2, 2);
        let names = ["name", "generateName"].map(|name| (name.to_owned(), text()));
        let metadata = Object {
            name: format!("{name}.metadata"),
            fields: names.into(),
        };
        add("apiVersion", text(), false);
        add("kind", text(), false);
        let metadata = Declared::simple(Type::Object(Arc::new(metadata)), 0, 2);
        add("metadata", metadata, false);
    }
    let object = Object {
        name: name.to_owned(),
        fields,
    };
    Declared::simple(Type::Object(Arc::new(object)), 0, fewest_bytes)
}
