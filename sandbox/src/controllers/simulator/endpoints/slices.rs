use std::sync::Arc;

use serde_json::{Value, json};

use super::{addresses, by_ports, families, hostname, is_ready, labels, target};
use crate::api::{DeleteOptions, Handle};
use crate::controllers::simulator::object::{
    controller_reference, is_controlled_by, nodes, update,
};
use crate::meta;
use crate::registry::GroupResource;

pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const CONTROLLER: &str = "endpointslice-controller.k8s.io";
const ZONE: &str = "topology.kubernetes.io/zone";
/// The most Pods in a slice.
pub(super) const MOST: usize = 100;

pub(in crate::controllers::simulator) fn slices() -> GroupResource {
    GroupResource::new("discovery.k8s.io", "endpointslices")
}

/// The content of a slice.
struct Wanted {
    ports: Value,
    endpoints: Value,
}

/// Writes the slices of a Service with these Pods.
pub(super) fn reconcile(handle: &Handle, service: &Value, pods: &[Arc<Value>]) {
    let namespace = meta::text(service, "namespace");
    let mut known = handle.list(&slices(), Some(namespace));
    known.retain(|slice| {
        let ours = slice["metadata"]["labels"][MANAGED_BY] == CONTROLLER;
        ours && is_controlled_by(slice, service)
    });
    for family in families(service) {
        for wanted in wanted(handle, service, pods, family) {
            // A slice with the same ports stays; only then others are used again.
            let of_family = |slice: &Arc<Value>| slice["addressType"] == family;
            let same = known
                .iter()
                .position(|slice| of_family(slice) && same_ports(slice, &wanted.ports));
            match same.or_else(|| known.iter().position(of_family)) {
                Some(at) => write(handle, service, &known.remove(at), &wanted),
                None => create(handle, service, family, &wanted),
            }
        }
    }
    for slice in known {
        // An error means that it is gone already.
        let options = DeleteOptions::default();
        let _ = handle.delete(&slices(), Some(namespace), meta::name(&slice), &options);
    }
}

pub(super) fn same_ports(slice: &Value, wanted: &Value) -> bool {
    match &slice["ports"] {
        Value::Null => *wanted == json!([]),
        ports => ports == wanted,
    }
}

fn wanted(handle: &Handle, service: &Value, pods: &[Arc<Value>], family: &str) -> Vec<Wanted> {
    let placed = pods.iter().filter(|pod| !addresses(pod, family).is_empty());
    let mut wanted = Vec::new();
    for (ports, group) in by_ports(service, placed) {
        for part in group.chunks(MOST) {
            let endpoints: Value = part
                .iter()
                .map(|pod| endpoint(handle, service, pod, family))
                .collect();
            wanted.push(Wanted {
                ports: ports.clone().into(),
                endpoints,
            });
        }
    }
    if wanted.is_empty() {
        wanted.push(Wanted {
            ports: json!([]),
            endpoints: json!([]),
        });
    }
    wanted
}

fn endpoint(handle: &Handle, service: &Value, pod: &Value, family: &str) -> Value {
    let (serving, terminating) = (is_ready(pod), meta::is_deleting(pod));
    let always = service["spec"]["publishNotReadyAddresses"] == true;
    let mut endpoint = json!({
        "addresses": addresses(pod, family),
        "conditions": {
            "ready": always || serving && !terminating, "serving": serving, "terminating": terminating,
        },
        "targetRef": target(pod),
    });
    if let Some(node) = pod["spec"]["nodeName"].as_str() {
        endpoint["nodeName"] = json!(node);
        let node = handle.get(&nodes(), None, node);
        let zone = node.map(|node| node["metadata"]["labels"][ZONE].clone());
        if let Some(zone) = zone.filter(Value::is_string) {
            endpoint["zone"] = zone;
        }
    }
    if let Some(hostname) = hostname(service, pod) {
        endpoint["hostname"] = hostname.clone();
    }
    endpoint
}

fn own_labels(service: &Value) -> Value {
    let own = [
        (SERVICE_NAME, meta::name(service)),
        (MANAGED_BY, CONTROLLER),
    ];
    labels(service, &own)
}

fn write(handle: &Handle, service: &Value, slice: &Value, wanted: &Wanted) {
    // A write that changes nothing is not stored.
    update(handle, &slices(), slice, "", |slice| {
        slice["metadata"]["labels"] = own_labels(service);
        slice["ports"] = wanted.ports.clone();
        slice["endpoints"] = wanted.endpoints.clone();
    });
}

fn create(handle: &Handle, service: &Value, family: &str, wanted: &Wanted) {
    let (namespace, name) = (meta::text(service, "namespace"), meta::name(service));
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "generateName": format!("{name}-"), "namespace": namespace, "labels": own_labels(service),
            "ownerReferences": [controller_reference(service)],
        },
        "addressType": family, "ports": wanted.ports, "endpoints": wanted.endpoints,
    });
    if let Err(error) = handle.create(&slices(), slice) {
        tracing::debug!(%namespace, %name, %error, "the simulator cannot create the EndpointSlice of the Service");
    }
}
