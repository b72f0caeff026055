use pilothouse::{Resource, resource::ObjectMeta};

#[derive(Resource)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct Alone {
    metadata: ObjectMeta,
}

fn main() {}
