use pilothouse::{Resource, resource::ObjectMeta};

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, shortnames("ws"), categorys("all"))]
struct Typo {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", version = "v2", namespaced = true)]
struct Twice {
    metadata: ObjectMeta,
}

fn main() {}
