//! Endpoints and EndpointSlices: which Pods a Service has, and on which ports.
//!
//! A Service with a selector has EndpointSlices for each of its IP families: one for each set of ports that its Pods have, with at most
//! [`slices::MOST`] Pods each. It also has an object Endpoints for its first family. A real server shortens Endpoints of more than 1000
//! Pods; this one does not. For a Service without a selector, the Endpoints that others write are copied into EndpointSlices, with at most
//! 1000 addresses of each subset, unless they are a lock or have the label `endpointslice.kubernetes.io/skip-mirror: "true"`.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `slices.rs` | the EndpointSlices of a Service with a selector |
//! | `endpoints.rs` | its Endpoints |
//! | `order.rs` | the order of their addresses and ports |
//! | `mirror.rs` | the EndpointSlices of a Service without a selector |
//! | `subsets.rs` | the canonical form of the subsets of Endpoints |

mod endpoints;
mod mirror;
mod order;
mod slices;
mod subsets;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value, json};

pub(super) use endpoints::endpoints;
pub(super) use slices::slices;

use super::object::{is_true, pods};
use super::pod_control::has_ended;
use crate::api::Handle;
use crate::meta;

/// The label of a Service whose clients get the addresses of the Pods.
const HEADLESS: &str = "service.kubernetes.io/headless";

/// Writes the endpoints of a Service.
pub(super) fn reconcile(handle: &Handle, service: &Value) {
    if selector(service).is_none() {
        return mirror::reconcile(handle, service);
    }
    mirror::remove(handle, service);
    if meta::is_deleting(service) || service["spec"]["type"] == "ExternalName" {
        return;
    }
    let mut selected = handle.list(&pods(), Some(meta::text(service, "namespace")));
    selected.retain(|pod| selects(service, &pod["metadata"]["labels"]) && !has_ended(pod));
    slices::reconcile(handle, service, &selected);
    endpoints::reconcile(handle, service, &selected);
}

/// Deletes the Endpoints of a deleted Service, and the slices that were copied from them. Its other slices belong to it, so the garbage
/// collector deletes them.
pub(super) fn forget(handle: &Handle, service: &Value) {
    endpoints::forget(handle, service);
    mirror::remove(handle, service);
}

/// The name of the Service to which Endpoints or an EndpointSlice belong.
pub(super) fn service_of(object: &Value) -> &str {
    if object["kind"] == "Endpoints" {
        meta::name(object)
    } else {
        let name = &object["metadata"]["labels"][slices::SERVICE_NAME];
        name.as_str().unwrap_or_default()
    }
}

fn selector(service: &Value) -> Option<&Map<String, Value>> {
    service["spec"]["selector"].as_object()
}

/// Whether a Service selects Pods with these labels.
pub(super) fn selects(service: &Value, labels: &Value) -> bool {
    selector(service).is_some_and(|selector| {
        selector
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
    })
}

/// The labels of a Service, and those that its endpoints have beside them.
fn labels(service: &Value, own: &[(&str, &str)]) -> Value {
    let labels = service["metadata"]["labels"].as_object();
    let mut labels = labels.cloned().unwrap_or_default();
    labels.remove(HEADLESS);
    if matches!(
        service["spec"]["clusterIP"].as_str(),
        None | Some("" | "None")
    ) {
        labels.insert(HEADLESS.into(), "".into());
    }
    for (key, value) in own {
        labels.insert((*key).into(), (*value).into());
    }
    labels.into()
}

/// The IP families of a Service.
fn families(service: &Value) -> Vec<&str> {
    let families = service["spec"]["ipFamilies"].as_array();
    let families = families.into_iter().flatten().filter_map(Value::as_str);
    let mut families: Vec<&str> = families.collect();
    if families.is_empty() {
        families.push("IPv4");
    }
    families
}

/// The addresses of a Pod in an IP family.
fn addresses<'a>(pod: &'a Value, family: &str) -> Vec<&'a str> {
    let all = pod["status"]["podIPs"].as_array().into_iter().flatten();
    let all = all.filter_map(|entry| entry["ip"].as_str());
    all.filter(|ip| ip.contains(':') == (family == "IPv6"))
        .collect()
}

/// Whether the containers of a Pod serve, whatever else is true of it.
fn is_ready(pod: &Value) -> bool {
    is_true(pod, "Ready")
}

fn target(pod: &Value) -> Value {
    json!({
        "kind": "Pod", "namespace": meta::text(pod, "namespace"), "name": meta::name(pod), "uid": meta::uid(pod),
    })
}

/// The name under which a Pod is found below the Service.
fn hostname<'a>(service: &Value, pod: &'a Value) -> Option<&'a Value> {
    let hostname = &pod["spec"]["hostname"];
    let own = pod["spec"]["subdomain"] == meta::name(service);
    (own && hostname.is_string()).then_some(hostname)
}

/// The ports of a Service, as numbers of a Pod. A named port that the Pod does not have is left out.
fn ports(service: &Value, pod: &Value) -> Vec<Value> {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    ports
        .filter_map(|port| {
            let mut found = json!({
                "name": port["name"].as_str().unwrap_or_default(),
                "port": number(port, pod)?,
                "protocol": port["protocol"],
            });
            if !port["appProtocol"].is_null() {
                found["appProtocol"] = port["appProtocol"].clone();
            }
            Some(found)
        })
        .collect()
}

/// The number of a Service's port in a Pod.
fn number(port: &Value, pod: &Value) -> Option<i64> {
    let target = &port["targetPort"];
    let Some(name) = target.as_str() else {
        return target.as_i64();
    };
    let containers = |list: &str| pod["spec"][list].as_array().into_iter().flatten();
    let sidecars = containers("initContainers").filter(|one| one["restartPolicy"] == "Always");
    let mut all = containers("containers")
        .chain(sidecars)
        .flat_map(|container| container["ports"].as_array().into_iter().flatten());
    let found = all.find(|one| one["name"] == name && one["protocol"] == port["protocol"])?;
    found["containerPort"].as_i64()
}

/// Pods by their ports.
type ByPorts<'a> = Vec<(Vec<Value>, Vec<&'a Value>)>;

fn by_ports<'a>(service: &Value, pods: impl Iterator<Item = &'a Arc<Value>>) -> ByPorts<'a> {
    let mut groups = ByPorts::new();
    for pod in pods {
        let ports = ports(service, pod);
        match groups.iter_mut().find(|(known, _)| *known == ports) {
            Some((_, group)) => group.push(pod),
            None => groups.push((ports, vec![pod])),
        }
    }
    groups
}
