use pilothouse::{Resource, resource::ObjectMeta};

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, served("v1beta1"))]
struct Text {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, conversion = "none")]
struct Alone {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, served(Other), conversion = "webhook")]
struct Webhook {
    metadata: ObjectMeta,
}

fn main() {}
