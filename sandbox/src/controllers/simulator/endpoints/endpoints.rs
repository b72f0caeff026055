use std::sync::Arc;

use serde_json::{Value, json};

use super::{addresses, by_ports, families, hostname, is_ready, labels, target};
use crate::api::{DeleteOptions, Handle};
use crate::controllers::simulator::object::update;
use crate::meta;
use crate::registry::GroupResource;

const MANAGED_BY: (&str, &str) = ("endpoints.kubernetes.io/managed-by", "endpoint-controller");

pub(in crate::controllers::simulator) fn endpoints() -> GroupResource {
    GroupResource::new("", "endpoints")
}

/// Writes the Endpoints of a Service with these Pods.
pub(super) fn reconcile(handle: &Handle, service: &Value, pods: &[Arc<Value>]) {
    let subsets = subsets(service, pods);
    let labels = labels(service, &[MANAGED_BY]);
    let (namespace, name) = (meta::text(service, "namespace"), meta::name(service));
    if let Some(known) = handle.get(&endpoints(), Some(namespace), name) {
        // A write that changes nothing is not stored.
        update(handle, &endpoints(), &known, "", |known| {
            known["metadata"]["labels"] = labels.clone();
            known["subsets"] = subsets.clone();
        });
        return;
    }
    let new = json!({
        "apiVersion": "v1", "kind": "Endpoints", "subsets": subsets,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
    });
    if let Err(error) = handle.create(&endpoints(), new) {
        tracing::debug!(%namespace, %name, %error, "the simulator cannot create the Endpoints of the Service");
    }
}

fn subsets(service: &Value, pods: &[Arc<Value>]) -> Value {
    let families = families(service);
    let family = families.first().copied().unwrap_or_default();
    let always = service["spec"]["publishNotReadyAddresses"] == true;
    let placed = pods
        .iter()
        .filter(|pod| !addresses(pod, family).is_empty() && (always || !meta::is_deleting(pod)));
    let portless = service["spec"]["ports"]
        .as_array()
        .is_none_or(Vec::is_empty);
    let mut subsets = Vec::new();
    for (ports, group) in by_ports(service, placed) {
        if ports.is_empty() && !portless {
            continue;
        }
        let (ready, unready): (Vec<&Value>, Vec<&Value>) =
            group.into_iter().partition(|pod| always || is_ready(pod));
        let mut subset = json!({});
        for (field, part) in [("addresses", ready), ("notReadyAddresses", unready)] {
            if !part.is_empty() {
                let all = part.iter().map(|pod| address(service, pod, family));
                subset[field] = all.collect();
            }
        }
        if !ports.is_empty() {
            subset["ports"] = ports.into_iter().map(unnamed).collect();
        }
        subsets.push(subset);
    }
    subsets.into()
}

fn address(service: &Value, pod: &Value, family: &str) -> Value {
    let mut address = json!({"ip": addresses(pod, family).first(), "targetRef": target(pod)});
    if pod["spec"]["nodeName"].is_string() {
        address["nodeName"] = pod["spec"]["nodeName"].clone();
    }
    if let Some(hostname) = hostname(service, pod) {
        address["hostname"] = hostname.clone();
    }
    address
}

/// Endpoints leave out an empty name, which EndpointSlices have.
fn unnamed(mut port: Value) -> Value {
    if port["name"] == ""
        && let Some(fields) = port.as_object_mut()
    {
        fields.remove("name");
    }
    port
}

/// Deletes the Endpoints of a deleted Service. Its slices belong to it, so the garbage collector deletes them.
pub(in crate::controllers::simulator) fn forget(handle: &Handle, service: &Value) {
    let (namespace, name) = (meta::text(service, "namespace"), meta::name(service));
    // Most Services without a selector have none.
    let _ = handle.delete(
        &endpoints(),
        Some(namespace),
        name,
        &DeleteOptions::default(),
    );
}
