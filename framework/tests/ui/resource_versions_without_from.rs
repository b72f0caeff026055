use pilothouse::{Resource, resource::ObjectMeta};

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, served(OldPage))]
struct Page {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1beta1", kind = "Page", namespaced)]
struct OldPage {
    metadata: ObjectMeta,
}

fn main() {}
