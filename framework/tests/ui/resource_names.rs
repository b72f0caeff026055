use pilothouse::{Resource, resource::ObjectMeta};

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo", version = "1.0", namespaced)]
struct NoDot {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.Example.com", version = "v1rc1", cluster)]
struct NotDns {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", kind = "my-kind", plural = "My Kinds", cluster)]
struct BadKind {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", short_names("WS", 1), namespaced)]
struct BadShortName {
    metadata: ObjectMeta,
}

#[derive(Resource, Clone, Debug)]
#[resource(namespaced)]
struct Nothing {
    metadata: ObjectMeta,
}

fn main() {}
