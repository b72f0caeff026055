use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Inner {
    #[schema(scale = "spec")]
    replicas: i32,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Spec {
    inner: Inner,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Kind {
    metadata: ObjectMeta,
    spec: Spec,
}

fn main() {}
