//! Kinds whose types alone do not show that they have no definition.

use std::collections::BTreeMap;

use pilothouse::{crd::CustomResource, prelude::*};
use serde_json::Value;

use super::{Mistake, error, mistake};

/// What the author of a kind with this spec sees.
macro_rules! seen {
    ($spec:ty) => {{
        #[derive(Resource, Clone, Debug)]
        #[resource(group = "demo.example.com", version = "v1", kind = "Thing", namespaced)]
        struct Thing {
            metadata: ObjectMeta,
            spec: $spec,
        }
        error(Thing::crd())
    }};
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
struct Named {
    #[schema(column = "Name")]
    name: String,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct ColumnInList {
    items: Vec<Named>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct ColumnOfObject {
    #[schema(column = "Inner")]
    inner: Inner,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
struct Inner {
    name: String,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct TwoColumns {
    one: Named,
    other: Named,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct WrongDefault {
    #[serde(default)]
    #[schema(min_length = 1)]
    html: String,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct FlattenedMap {
    name: String,
    #[serde(flatten)]
    more: BTreeMap<String, String>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct MixedList {
    #[schema(with = "(i32, String)")]
    pair: Value,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct AlwaysNull {
    #[schema(with = "()")]
    value: Value,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type")]
enum Choice {
    One(OneValue),
    Other(OtherValue),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct OneValue {
    value: i32,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct OtherValue {
    value: String,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct ConflictingVariants {
    choice: Choice,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Either {
    Object(Inner),
    Text(Word),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
struct Word(String);

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct ObjectOrText {
    either: Either,
}

pub(super) fn all() -> Vec<Mistake> {
    vec![
        mistake("A column is in a list.", seen!(ColumnInList)),
        mistake("A column shows an object.", seen!(ColumnOfObject)),
        mistake("Two columns have the same name.", seen!(TwoColumns)),
        mistake(
            "The default of a field violates its bounds.",
            seen!(WrongDefault),
        ),
        mistake("A map is flattened beside fields.", seen!(FlattenedMap)),
        mistake("`with` names a tuple.", seen!(MixedList)),
        mistake(
            "`with` names a type that is always null.",
            seen!(AlwaysNull),
        ),
        mistake(
            "Two variants have a field of the same name with different types.",
            seen!(ConflictingVariants),
        ),
        mistake(
            "A variant is an object, another one is a text.",
            seen!(ObjectOrText),
        ),
    ]
}
