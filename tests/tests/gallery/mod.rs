//! A kind with every schema form that a Rust type can have.

use std::collections::BTreeMap;

use pilothouse::{
    Resource, Schema,
    k8s::{
        api::core::v1::{EnvVar, PodTemplateSpec, ResourceRequirements, SecretKeySelector},
        apimachinery::pkg::{
            api::resource::Quantity,
            apis::meta::v1::{Condition, LabelSelector, Time},
            util::intstr::IntOrString,
        },
    },
    resource::ObjectMeta,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A gallery of every form a type can take.
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "demo.pilothouse.dev",
    version = "v1",
    namespaced,
    plural = "galleries",
    short_names("gal"),
    categories("all")
)]
pub(crate) struct Gallery {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: GallerySpec,
    pub(crate) status: Option<GalleryStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GallerySpec {
    #[serde(default = "one")]
    #[schema(minimum = 0, maximum = 100, scale = "spec")]
    pub(crate) replicas: i32,
    #[schema(exclusive_minimum = 0, exclusive_maximum = 1)]
    pub(crate) share: f64,
    #[schema(pattern = "^[a-z]+$", min_length = 1, max_length = 8)]
    pub(crate) word: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) target: Option<Target>,
    pub(crate) action: Option<Action>,
    pub(crate) shape: Option<Shape>,
    pub(crate) port: Option<PortOrName>,
    #[schema(unique_items)]
    pub(crate) tags: Option<Vec<String>>,
    #[schema(list_type = "map", list_map_keys("name"))]
    pub(crate) items: Option<Vec<Item>>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) anything: Option<Value>,
    #[serde(default)]
    pub(crate) nested: Nested,
    #[serde(flatten)]
    pub(crate) flat: Flat,
    pub(crate) limit: Option<Quantity>,
    pub(crate) target_port: Option<IntOrString>,
    pub(crate) selector: Option<LabelSelector>,
    pub(crate) resources: Option<ResourceRequirements>,
    pub(crate) secret: Option<SecretKeySelector>,
    pub(crate) env: Option<Vec<EnvVar>>,
    pub(crate) template: Option<PodTemplateSpec>,
    pub(crate) since: Option<Time>,
    #[schema(embedded_resource)]
    pub(crate) embedded: Option<Value>,
}

fn one() -> i32 {
    1
}

#[derive(Schema, Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// Slowly.
    VeryCareful,
    Fast,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Target {
    Pod { name: String },
    Host(Item),
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "type")]
pub(crate) enum Action {
    Keep,
    Delete {
        #[serde(default)]
        after: i64,
        reason: String,
    },
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "form", content = "of")]
pub(crate) enum Shape {
    Circle { radius: u32 },
    Square { side: u32 },
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum PortOrName {
    Port(u16),
    Name(String),
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Item {
    pub(crate) name: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
#[schema(rule("self.depth < 9", "too deep"))]
pub(crate) struct Nested {
    pub(crate) deep_value: Option<String>,
    #[schema(column = "Depth")]
    pub(crate) depth: i16,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Flat {
    pub(crate) flattened: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GalleryStatus {
    #[schema(column = "Ready", scale = "status")]
    pub(crate) ready_replicas: i32,
    #[schema(scale = "selector")]
    pub(crate) selector: String,
    pub(crate) conditions: Vec<Condition>,
}
