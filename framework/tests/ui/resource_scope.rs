use pilothouse::{Resource, resource::ObjectMeta};

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1")]
struct Nowhere {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, cluster)]
struct Everywhere {
    metadata: ObjectMeta,
}

fn main() {}
