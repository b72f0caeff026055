use pilothouse::{Resource, resource::ObjectMeta};

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
enum Choice {
    One,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Tuple(ObjectMeta);

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Generic<T> {
    metadata: ObjectMeta,
    spec: T,
}

fn main() {}
