//! In the form of a HorizontalPodAutoscaler: `v1` has one number where `v2` has a list of metrics.

use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "autoscaling.example.com",
    version = "v2",
    namespaced,
    served(v1::Autoscaler, v2beta1::Autoscaler)
)]
pub struct Autoscaler {
    pub metadata: ObjectMeta,
    pub spec: AutoscalerSpec,
    pub status: Option<AutoscalerStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalerSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub min_replicas: Option<i32>,
    #[schema(minimum = 1, maximum = 100)]
    pub max_replicas: i32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(list_type = "map", list_map_keys("name"), max_items = 5)]
    pub metrics: Vec<Metric>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<Behavior>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct Metric {
    #[schema(min_length = 1, max_length = 20)]
    pub name: String,
    #[schema(minimum = 1, maximum = 100)]
    pub utilization: i32,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct Behavior {
    pub window: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<Policy>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub enum Policy {
    Pods,
    Percent,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AutoscalerStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_replicas: Option<i32>,
}

pub mod v1 {
    use super::*;

    #[derive(Resource, Clone, Debug)]
    #[resource(
        group = "autoscaling.example.com",
        version = "v1",
        namespaced,
        deprecated = "use autoscaling.example.com/v2"
    )]
    pub struct Autoscaler {
        pub metadata: ObjectMeta,
        pub spec: AutoscalerSpec,
        pub status: Option<AutoscalerStatus>,
    }

    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct AutoscalerSpec {
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 1, maximum = 100)]
        pub min_replicas: Option<i32>,
        #[schema(minimum = 1, maximum = 100)]
        pub max_replicas: i32,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 1, maximum = 100, column = "Target")]
        pub target_percentage: Option<i32>,
    }
}

pub mod v2beta1 {
    use super::*;

    /// Its metrics have no names: each is in a field of its own.
    #[derive(Resource, Clone, Debug)]
    #[resource(group = "autoscaling.example.com", version = "v2beta1", namespaced)]
    pub struct Autoscaler {
        pub metadata: ObjectMeta,
        pub spec: AutoscalerSpec,
        pub status: Option<AutoscalerStatus>,
    }

    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct AutoscalerSpec {
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 1, maximum = 100)]
        pub min_replicas: Option<i32>,
        #[schema(minimum = 1, maximum = 100)]
        pub max_replicas: i32,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 1, maximum = 100)]
        pub cpu: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 1, maximum = 100)]
        pub memory: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub behavior: Option<Behavior>,
    }
}

fn metric(name: &str, utilization: i32) -> Metric {
    let name = name.into();
    Metric { name, utilization }
}

fn utilization(metrics: &[Metric], name: &str) -> Option<i32> {
    let found = metrics.iter().find(|metric| metric.name == name);
    found.map(|metric| metric.utilization)
}

impl From<v1::Autoscaler> for Autoscaler {
    fn from(old: v1::Autoscaler) -> Self {
        let v1::AutoscalerSpec {
            min_replicas,
            max_replicas,
            target_percentage,
        } = old.spec;
        let metrics = target_percentage
            .into_iter()
            .map(|percent| metric("cpu", percent));
        Self {
            metadata: old.metadata,
            spec: AutoscalerSpec {
                min_replicas,
                max_replicas,
                metrics: metrics.collect(),
                behavior: None,
            },
            status: old.status,
        }
    }
}

impl From<Autoscaler> for v1::Autoscaler {
    fn from(new: Autoscaler) -> Self {
        let AutoscalerSpec {
            min_replicas,
            max_replicas,
            metrics,
            ..
        } = new.spec;
        let target_percentage = utilization(&metrics, "cpu");
        Self {
            metadata: new.metadata,
            spec: v1::AutoscalerSpec {
                min_replicas,
                max_replicas,
                target_percentage,
            },
            status: new.status,
        }
    }
}

impl From<v2beta1::Autoscaler> for Autoscaler {
    fn from(old: v2beta1::Autoscaler) -> Self {
        let v2beta1::AutoscalerSpec {
            min_replicas,
            max_replicas,
            cpu,
            memory,
            behavior,
        } = old.spec;
        let cpu = cpu.map(|percent| metric("cpu", percent));
        let memory = memory.map(|percent| metric("memory", percent));
        let metrics = cpu.into_iter().chain(memory).collect();
        Self {
            metadata: old.metadata,
            spec: AutoscalerSpec {
                min_replicas,
                max_replicas,
                metrics,
                behavior,
            },
            status: old.status,
        }
    }
}

impl From<Autoscaler> for v2beta1::Autoscaler {
    fn from(new: Autoscaler) -> Self {
        let AutoscalerSpec {
            min_replicas,
            max_replicas,
            metrics,
            behavior,
        } = new.spec;
        let (cpu, memory) = (
            utilization(&metrics, "cpu"),
            utilization(&metrics, "memory"),
        );
        Self {
            metadata: new.metadata,
            spec: v2beta1::AutoscalerSpec {
                min_replicas,
                max_replicas,
                cpu,
                memory,
                behavior,
            },
            status: new.status,
        }
    }
}
