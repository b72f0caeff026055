//! The custom resource of the bench, as its users write it.

use std::collections::BTreeMap;

use pilothouse::{k8s::apimachinery::pkg::apis::meta::v1::Condition, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Resource, Clone, Debug)]
#[resource(group = "bench.pilothouse.dev", version = "v1", namespaced)]
pub struct Widget {
    metadata: ObjectMeta,
    spec: WidgetSpec,
    status: Option<WidgetStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct WidgetSpec {
    image: String,
    replicas: i64,
    settings: BTreeMap<String, String>,
    schedule: String,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WidgetStatus {
    ready_replicas: i64,
    observed_generation: i64,
    conditions: Vec<Condition>,
}
