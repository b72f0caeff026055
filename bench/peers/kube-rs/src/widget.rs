//! The custom resource of the bench. `kube::CustomResource` writes the same implementation.

use std::{borrow::Cow, collections::BTreeMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::{Resource, core::NamespaceResourceScope};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Widget {
    metadata: ObjectMeta,
    spec: WidgetSpec,
    status: Option<WidgetStatus>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct WidgetSpec {
    image: String,
    replicas: i64,
    settings: BTreeMap<String, String>,
    schedule: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WidgetStatus {
    ready_replicas: i64,
    observed_generation: i64,
    conditions: Vec<Condition>,
}

impl Resource for Widget {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Widget".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "bench.pilothouse.dev".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "widgets".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
