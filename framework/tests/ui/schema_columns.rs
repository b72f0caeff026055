use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Deserialize, Serialize, Clone, Debug)]
struct Columns {
    #[schema(column = "Names")]
    list: Vec<String>,
    #[schema(column = "Age")]
    age: i32,
    #[schema(column(priority = 1))]
    unnamed: i32,
    #[schema(column(name = "When", type = "time"))]
    when: String,
    #[schema(scale = "spec")]
    replicas: String,
    #[schema(scale = "selector")]
    selector: i32,
    #[serde(flatten)]
    #[schema(column = "Flat")]
    flat: Flat,
    #[serde(skip)]
    #[schema(column = "Skipped")]
    skipped: i32,
    #[schema(column(name = "Path", json_path = ".length"))]
    path: i32,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
#[schema(column(name = "Dollar", json_path = "$.spec.a"))]
#[schema(column(name = "Dotless", json_path = "spec.a"))]
#[schema(column(name = "Open", json_path = ".status.conditions[?(@.type==\"Ready)].status"))]
#[schema(column(name = "Closed", json_path = ".status.a].b"))]
struct OfKind {
    metadata: ObjectMeta,
    #[schema(column = "Spec")]
    spec: Columns,
}

#[derive(Schema, Deserialize, Serialize, Clone, Debug)]
struct Flat {
    field: i32,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
#[schema(minimum = 1)]
struct Bound {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
#[schema(column = "Pathless")]
struct Pathless {
    metadata: ObjectMeta,
}

fn main() {}
