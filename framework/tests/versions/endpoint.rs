//! A field that was split, as Cluster API has done with endpoints: an address became a host and a port. An annotation became a field.

use pilothouse::{Resource, Schema, resource::ObjectMeta};
use serde::{Deserialize, Serialize};

const TLS: &str = "endpoints.example.com/tls";

// ANCHOR: versions
#[derive(Resource, Clone, Debug)]
#[resource(
    group = "endpoints.example.com",
    version = "v1",
    namespaced,
    served(v1alpha1::Endpoint)
)]
pub struct Endpoint {
    pub metadata: ObjectMeta,
    pub spec: EndpointSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct EndpointSpec {
    #[schema(pattern = "^[a-z]{1,8}$")]
    pub host: String,
    #[schema(minimum = 1, maximum = 9999)]
    pub port: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
}

pub mod v1alpha1 {
    use super::*;

    #[derive(Resource, Clone, Debug)]
    #[resource(group = "endpoints.example.com", version = "v1alpha1", namespaced)]
    pub struct Endpoint {
        pub metadata: ObjectMeta,
        pub spec: EndpointSpec,
    }

    #[derive(Schema, Clone, Debug, Deserialize, Serialize)]
    pub struct EndpointSpec {
        #[schema(pattern = "^[a-z]{1,8}:[1-9][0-9]{0,3}$")]
        pub address: String,
    }
}

// ANCHOR_END: versions

/// What is wrong with an address.
#[derive(Debug)]
pub struct WrongAddress(&'static str);

impl std::fmt::Display for WrongAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "spec.address: {}", self.0)
    }
}

// ANCHOR: conversions
impl TryFrom<v1alpha1::Endpoint> for Endpoint {
    type Error = WrongAddress;

    fn try_from(old: v1alpha1::Endpoint) -> Result<Self, WrongAddress> {
        let mut metadata = old.metadata;
        let (host, port) = old
            .spec
            .address
            .split_once(':')
            .ok_or(WrongAddress("no port"))?;
        let port = port
            .parse()
            .map_err(|_| WrongAddress("the port is no number"))?;
        let annotations = metadata.annotations.as_mut();
        let tls = annotations.and_then(|annotations| annotations.remove(TLS));
        let tls = tls.map(|text| text == "true");
        let host = host.to_owned();
        Ok(Self {
            metadata,
            spec: EndpointSpec { host, port, tls },
        })
    }
}

impl TryFrom<Endpoint> for v1alpha1::Endpoint {
    type Error = WrongAddress;

    fn try_from(new: Endpoint) -> Result<Self, WrongAddress> {
        let mut metadata = new.metadata;
        if new.spec.host == "none" {
            return Err(WrongAddress("an endpoint has a host"));
        }
        if let Some(tls) = new.spec.tls {
            let annotations = metadata.annotations.get_or_insert_default();
            annotations.insert(TLS.into(), tls.to_string());
        }
        let address = format!("{}:{}", new.spec.host, new.spec.port);
        Ok(Self {
            metadata,
            spec: v1alpha1::EndpointSpec { address },
        })
    }
}

// ANCHOR_END: conversions

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct TextSpec {
    pub text: String,
}

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "same.example.com",
    version = "v1",
    namespaced,
    served(SameBefore),
    conversion = "none"
)]
pub struct Same {
    pub metadata: ObjectMeta,
    pub spec: TextSpec,
}

#[derive(Resource, Clone, Debug)]
#[resource(
    group = "same.example.com",
    version = "v1beta1",
    kind = "Same",
    namespaced
)]
pub struct SameBefore {
    pub metadata: ObjectMeta,
    pub spec: TextSpec,
}

#[derive(Schema, Clone, Debug, Deserialize, Serialize)]
pub struct NumberSpec {
    pub text: i32,
}
