use std::time::Duration;

use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Pool<T> {
    template: T,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Plain {}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct OfPlain {
    metadata: ObjectMeta,
    spec: Pool<Plain>,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced)]
struct OfDuration {
    metadata: ObjectMeta,
    spec: Pool<Duration>,
}

#[derive(Schema, Deserialize, Serialize)]
struct Borrowed<'a> {
    name: std::borrow::Cow<'a, str>,
}

#[derive(Schema, Deserialize, Serialize)]
struct Recursive<T> {
    value: T,
    next: Option<Box<Recursive<T>>>,
}

fn main() {}
