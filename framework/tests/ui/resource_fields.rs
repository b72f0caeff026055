use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Spec {}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct NoMetadata {
    spec: Spec,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct PlainStatus {
    metadata: ObjectMeta,
    spec: Spec,
    status: Spec,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct More {
    kind: String,
    metadata: String,
    spec: Spec,
    replicas: i32,
}

fn main() {}
