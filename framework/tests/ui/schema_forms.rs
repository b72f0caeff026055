use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize)]
struct Forms {
    twice: Option<Option<i32>>,
    #[serde(skip_deserializing)]
    only_written: i32,
    #[serde(rename(serialize = "a", deserialize = "b"))]
    two_names: i32,
    #[schema(selectable)]
    list: Vec<i32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    read_back: Vec<i32>,
}

#[derive(Schema, Deserialize, Serialize)]
#[serde(tag = "type")]
enum Tagged {
    #[serde(alias = "Old")]
    New { name: String },
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, label("a b", "c"), label("a", "b/c"), deprecated = "")]
struct Labelled {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, foreign, short_names("f"))]
#[schema(rule("true", "is true"))]
struct Foreign {
    metadata: ObjectMeta,
}

fn main() {}
