use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

mod v1beta1 {}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Spec {
    text: String,
}

/// The module has no such type.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, served(v1beta1::Kind))]
struct Kind {
    metadata: ObjectMeta,
    spec: Spec,
}

fn main() {}
