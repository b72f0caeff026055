use std::sync::Arc;

use serde_json::Value;

use crate::api::{self, Target};
use crate::core::Core;
use crate::error::ApiError;
use crate::registry::GroupResource;
use crate::store::Key;

/// The label of an EndpointSlice that names its Service.
const SERVICE_LABEL: &str = "kubernetes.io/service-name";

/// Where a request goes.
pub(super) struct Place {
    pub(super) pod: Arc<Value>,
    pub(super) address: String,
    /// As the path or the Pod names it; empty if neither does.
    pub(super) port: String,
    pub(super) is_tls: bool,
}

/// A name in a path: `web`, `web:80` or `http:web:80`.
struct Id<'a> {
    scheme: &'a str,
    name: &'a str,
    port: &'a str,
}

impl<'a> Id<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (scheme, name, port) = match parts.as_slice() {
            [name] => ("", *name, ""),
            [name, port] => ("", *name, *port),
            [scheme, name, port] => (*scheme, *name, *port),
            _ => return None,
        };
        let is_valid = !name.is_empty() && matches!(scheme, "" | "http" | "https");
        is_valid.then_some(Self { scheme, name, port })
    }
}

/// The place that a name of a Pod in a path means. Without a port it is the first one of the Pod's containers.
///
/// # Errors
/// 400 if the name is invalid or the Pod has no address that others reach, 404 if it does not exist.
pub(super) async fn of_pod(core: &Core, target: &Target, id: &str) -> Result<Place, ApiError> {
    let Some(Id { scheme, name, port }) = Id::parse(id) else {
        return Err(ApiError::bad_request(format!("invalid pod request {id:?}")));
    };
    let pod = api::get(core, target, name, "", None).await?.value();
    let first = || {
        let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
        let mut ports = containers.map(|container| &container["ports"][0]["containerPort"]);
        let port = ports.find_map(Value::as_u64);
        port.map(|port| port.to_string()).unwrap_or_default()
    };
    let port = if port.is_empty() {
        first()
    } else {
        port.into()
    };
    let addresses = pod["status"]["podIPs"].as_array();
    let address = addresses.and_then(|all| all.first()?["ip"].as_str());
    let address = address.or_else(|| pod["status"]["podIP"].as_str());
    let address = address.unwrap_or_default().to_owned();
    if !is_reachable(&address) {
        return Err(ApiError::bad_request("address not allowed"));
    }
    Ok(Place {
        pod,
        address,
        port,
        is_tls: scheme == "https",
    })
}

/// Whether others can reach an address.
fn is_reachable(address: &str) -> bool {
    use std::net::IpAddr;
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let is_of_link = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(address.is_unspecified() || address.is_loopback() || address.is_multicast() || is_of_link)
}

/// The place that a name of a Service in a path means: one of its endpoints.
///
/// # Errors
/// 400 if the name is invalid, 404 if the Service of a port number does not exist, 503 if it has no such port or no Pod.
pub(super) async fn of_service(core: &Core, target: &Target, id: &str) -> Result<Place, ApiError> {
    let Some(Id { scheme, name, port }) = Id::parse(id) else {
        return Err(ApiError::bad_request(format!(
            "invalid service request {id:?}"
        )));
    };
    let mut port = port.to_owned();
    if let Ok(number) = port.parse::<i64>() {
        let service = api::get(core, target, name, "", None).await?.value();
        let mut ports = service["spec"]["ports"].as_array().into_iter().flatten();
        let found = ports.find(|port| port["port"] == number);
        let found = found.ok_or_else(|| {
            unavailable(&format!(
                "no service port {number} found for service {name:?}"
            ))
        })?;
        port = text(&found["name"]).to_owned();
    }
    let slices = slices_of(core, target.namespace.as_deref(), name);
    let found = rotated(core, &slices).find_map(|slice| {
        let mut ports = list(&slice["ports"]);
        let number = ports.find(|known| text(&known["name"]) == port)?["port"].as_u64()?;
        let endpoints: Vec<&Value> = list(&slice["endpoints"])
            .filter(|endpoint| endpoint["conditions"]["ready"] != false)
            .collect();
        let mut all = rotated(core, &endpoints);
        all.find_map(|endpoint| {
            let address = text(&endpoint["addresses"][0]);
            let pod = pod_of(core, target.namespace.as_deref(), endpoint, address)?;
            Some((pod, address.to_owned(), number))
        })
    });
    let none = || unavailable(&format!("no endpoints available for service {name:?}"));
    let (pod, address, number) = found.ok_or_else(none)?;
    Ok(Place {
        pod,
        address,
        port: number.to_string(),
        is_tls: scheme == "https",
    })
}

/// The EndpointSlices of a Service.
fn slices_of(core: &Core, namespace: Option<&str>, service: &str) -> Vec<Arc<Value>> {
    let resource = GroupResource::new("discovery.k8s.io", "endpointslices");
    let Some(Ok(all)) = core.store.list(&resource, namespace, None, None) else {
        return Vec::new();
    };
    let objects = all.entries.into_iter().map(|entry| entry.object);
    let is_of = |slice: &Arc<Value>| slice["metadata"]["labels"][SERVICE_LABEL] == service;
    objects.filter(is_of).collect()
}

/// The Pod of an endpoint, if it exists and has the address.
fn pod_of(
    core: &Core,
    namespace: Option<&str>,
    endpoint: &Value,
    address: &str,
) -> Option<Arc<Value>> {
    let target = endpoint.get("targetRef")?;
    if namespace != target["namespace"].as_str() {
        return None;
    }
    let pods = GroupResource::new("", "pods");
    let pod = core
        .store
        .get(&pods, &Key::new(namespace, text(&target["name"])));
    let pod = pod?.object;
    let has_address = list(&pod["status"]["podIPs"]).any(|one| one["ip"] == address);
    has_address.then_some(pod)
}

/// The items from a random one on.
fn rotated<'a, T>(core: &Core, items: &'a [T]) -> impl Iterator<Item = &'a T> + use<'a, T> {
    let start = match items.len() {
        0 => 0,
        count => usize::try_from(core.clock.below(count as u64)).unwrap_or_default(),
    };
    let (before, after) = items.split_at(start.min(items.len()));
    after.iter().chain(before)
}

pub(super) fn unavailable(message: &str) -> ApiError {
    ApiError::new(503, "ServiceUnavailable", message)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_path_may_have_a_scheme_and_a_port() {
        let parse = |text| Id::parse(text).map(|id| (id.scheme, id.name, id.port));
        assert_eq!(parse("web"), Some(("", "web", "")));
        assert_eq!(parse("web:80"), Some(("", "web", "80")));
        assert_eq!(parse("https:web:http"), Some(("https", "web", "http")));
        for wrong in ["", ":80", "ftp:web:80", "http:web:80:a", "http::80"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_addresses_of_one_machine_that_others_reach_are_asked() {
        for address in ["10.1.0.1", "192.168.0.1", "fd00::1"] {
            assert!(is_reachable(address), "{address}");
        }
        for address in [
            "",
            "a",
            "127.0.0.1",
            "0.0.0.0",
            "169.254.1.1",
            "224.0.0.1",
            "::1",
            "fe80::1",
        ] {
            assert!(!is_reachable(address), "{address}");
        }
    }
}
