use pilothouse::{Resource, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Spec {}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Kind {
    metadata: ObjectMeta,
    spec: Spec,
}

fn main() {}
