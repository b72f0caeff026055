use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
struct Spec {
    text: String,
}

/// No conversion leads to it or from it.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, served(v1beta1::Kind))]
struct Kind {
    metadata: ObjectMeta,
    spec: Spec,
}

/// The way back is missing.
#[derive(Resource, Clone, Debug)]
#[resource(group = "demo.example.com", version = "v1", namespaced, served(v1beta1::OneWay))]
struct OneWay {
    metadata: ObjectMeta,
    spec: Spec,
}

impl From<v1beta1::OneWay> for OneWay {
    fn from(old: v1beta1::OneWay) -> Self {
        Self {
            metadata: old.metadata,
            spec: old.spec,
        }
    }
}

mod v1beta1 {
    use super::*;

    #[derive(Resource, Clone, Debug)]
    #[resource(group = "demo.example.com", version = "v1beta1", namespaced)]
    pub(crate) struct Kind {
        pub(crate) metadata: ObjectMeta,
        pub(crate) spec: Spec,
    }

    #[derive(Resource, Clone, Debug)]
    #[resource(group = "demo.example.com", version = "v1beta1", namespaced)]
    pub(crate) struct OneWay {
        pub(crate) metadata: ObjectMeta,
        pub(crate) spec: Spec,
    }
}

fn main() {}
