use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Status {
    note: Option<String>,
    ready: Vec<String>,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Kind {
    metadata: ObjectMeta,
    status: Option<Status>,
}

fn main() {}
