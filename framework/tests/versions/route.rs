//! In the form of an Ingress: `v1beta1` has the backend's port as a number or a name, `v1` has a field for each and a path type.

use pilothouse::{
    Resource, Schema, k8s::apimachinery::pkg::util::intstr::IntOrString, resource::ObjectMeta,
};
use serde::{Deserialize, Serialize};

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "routes.example.com",
    version = "v1",
    namespaced,
    served(v1beta1::Route)
)]
pub struct Route {
    pub metadata: ObjectMeta,
    pub spec: RouteSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct RouteSpec {
    #[serde(default)]
    #[schema(max_items = 4)]
    pub rules: Vec<Rule>,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub host: String,
    pub path_type: PathType,
    pub backend: Backend,
}

#[derive(Schema, Clone, Copy, Debug, Deserialize, Serialize)]
pub enum PathType {
    Exact,
    Prefix,
    ImplementationSpecific,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backend {
    pub service: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 65535)]
    pub port_number: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_name: Option<String>,
}

pub mod v1beta1 {
    use super::*;

    #[derive(Resource, Clone, Debug)]
    #[resource(group = "routes.example.com", version = "v1beta1", namespaced)]
    pub struct Route {
        pub metadata: ObjectMeta,
        pub spec: RouteSpec,
    }

    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    pub struct RouteSpec {
        #[serde(default)]
        #[schema(max_items = 4)]
        pub rules: Vec<Rule>,
    }

    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    pub struct Rule {
        pub host: String,
        pub service: String,
        pub port: IntOrString,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub legacy: Option<bool>,
    }
}

impl From<v1beta1::Route> for Route {
    fn from(old: v1beta1::Route) -> Self {
        let rules = old.spec.rules.into_iter().map(|old| {
            let (port_number, port_name) = match old.port {
                IntOrString::Int(number) => (Some(number), None),
                IntOrString::String(name) => (None, Some(name)),
            };
            let service = old.service;
            let backend = Backend {
                service,
                port_number,
                port_name,
            };
            Rule {
                host: old.host,
                path_type: PathType::ImplementationSpecific,
                backend,
            }
        });
        let rules = rules.collect();
        Self {
            metadata: old.metadata,
            spec: RouteSpec { rules },
        }
    }
}

impl From<Route> for v1beta1::Route {
    fn from(new: Route) -> Self {
        let rules = new.spec.rules.into_iter().map(|new| {
            let Backend {
                service,
                port_number,
                port_name,
            } = new.backend;
            let port = match (port_number, port_name) {
                (Some(number), _) => IntOrString::Int(number),
                (None, name) => IntOrString::String(name.unwrap_or_default()),
            };
            v1beta1::Rule {
                host: new.host,
                service,
                port,
                legacy: None,
            }
        });
        let rules = rules.collect();
        Self {
            metadata: new.metadata,
            spec: v1beta1::RouteSpec { rules },
        }
    }
}
