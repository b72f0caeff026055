//! A kind whose versions have the number of replicas in different fields, so the subresource `scale` of each has other paths.

use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "scaled.example.com",
    version = "v1",
    namespaced,
    served(FleetBefore)
)]
pub struct Fleet {
    pub metadata: ObjectMeta,
    pub spec: FleetSpec,
    pub status: Option<FleetStatus>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct FleetSpec {
    pub size: Size,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct Size {
    #[schema(scale = "spec")]
    pub boats: i32,
    /// The older version does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i32>,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct FleetStatus {
    #[schema(scale = "status")]
    pub afloat: i32,
    #[schema(scale = "selector")]
    pub selector: String,
}

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "scaled.example.com",
    version = "v1beta1",
    kind = "Fleet",
    namespaced
)]
pub struct FleetBefore {
    pub metadata: ObjectMeta,
    pub spec: FleetSpecBefore,
    pub status: Option<FleetStatusBefore>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct FleetSpecBefore {
    #[schema(scale = "spec")]
    pub boats: i32,
}

#[derive(Schema, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct FleetStatusBefore {
    #[schema(scale = "status")]
    pub boats: i32,
    #[schema(scale = "selector")]
    pub labels: String,
}

impl From<FleetBefore> for Fleet {
    fn from(old: FleetBefore) -> Self {
        let size = Size {
            boats: old.spec.boats,
            limit: None,
        };
        Self {
            metadata: old.metadata,
            spec: FleetSpec { size },
            status: old.status.map(|status| FleetStatus {
                afloat: status.boats,
                selector: status.labels,
            }),
        }
    }
}

impl From<Fleet> for FleetBefore {
    fn from(new: Fleet) -> Self {
        Self {
            metadata: new.metadata,
            spec: FleetSpecBefore {
                boats: new.spec.size.boats,
            },
            status: new.status.map(|status| FleetStatusBefore {
                boats: status.afloat,
                labels: status.selector,
            }),
        }
    }
}
