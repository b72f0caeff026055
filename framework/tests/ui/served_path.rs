use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Spec {
    text: String,
}

/// There is no such module.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, served(v1beta1::Kind))]
struct Kind {
    metadata: ObjectMeta,
    spec: Spec,
}

fn main() {}
