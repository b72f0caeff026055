use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Spec {
    text: String,
}

/// A kind, and a type that is not another version of it.
macro_rules! versions {
    ($kind:ident, $other:ident: $($attribute:tt)+) => {
        #[derive(Resource, Clone, Debug)]
        #[resource(
            group = "demo.example.com",
            version = "v1",
            kind = "Kind",
            namespaced,
            served($other),
            conversion = "none"
        )]
        struct $kind {
            metadata: ObjectMeta,
            spec: Spec,
        }

        #[derive(Resource, Clone, Debug)]
        #[resource($($attribute)+)]
        struct $other {
            metadata: ObjectMeta,
            spec: Spec,
        }
    };
}

versions!(A, OtherGroup: group = "other.example.com", version = "v1beta1", kind = "Kind", namespaced);
versions!(B, OtherKind: group = "demo.example.com", version = "v1beta1", namespaced);
versions!(C, OtherPlural: group = "demo.example.com", version = "v1beta1", kind = "Kind", plural = "kinds2", namespaced);
versions!(D, OtherScope: group = "demo.example.com", version = "v1beta1", kind = "Kind", cluster);
versions!(E, SameVersion: group = "demo.example.com", version = "v1", kind = "Kind", namespaced);
versions!(F, Nested: group = "demo.example.com", version = "v1beta1", kind = "Kind", namespaced, served(Oldest), conversion = "none");

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1alpha1", kind = "Kind", namespaced)]
struct Oldest {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1alpha1", kind = "Kind", namespaced)]
struct SameAsOldest {
    metadata: ObjectMeta,
    spec: Spec,
}

/// Two of its types have the same version.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "demo.example.com",
    version = "v1",
    kind = "Kind",
    namespaced,
    served(Oldest, SameAsOldest),
    conversion = "none"
)]
struct G {
    metadata: ObjectMeta,
    spec: Spec,
}

fn main() {}
