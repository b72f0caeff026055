use pilothouse::{Resource, k8s::api::core::v1::Pod, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Resource, Deserialize, Serialize, Clone, Debug)]
#[resource(view_of = Pod, group = "demo.example.com", namespaced)]
struct SaysTooMuch {
    metadata: ObjectMeta,
}

#[derive(Resource, Deserialize, Serialize, Clone, Debug)]
#[resource(view_of = Pod)]
struct WithoutMetadata {
    spec: String,
}

fn main() {}
