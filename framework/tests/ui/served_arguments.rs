use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Spec {
    text: String,
}

/// A text is no type.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, served("v1beta1"))]
struct Text {
    metadata: ObjectMeta,
    spec: Spec,
}

/// There is no such conversion.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, served(Text), conversion = "webhook")]
struct Webhook {
    metadata: ObjectMeta,
    spec: Spec,
}

/// There is nothing to convert.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, conversion = "none")]
struct Alone {
    metadata: ObjectMeta,
    spec: Spec,
}

/// Another program defines the versions.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, foreign, served(Text))]
struct Foreign {
    metadata: ObjectMeta,
    spec: Spec,
}

fn main() {}
