use std::sync::Arc;

use serde_json::{Value, json};

use super::order::{sort_addresses, sort_ports};
use super::{ByPorts, addresses, families, hostname, is_ready, labels, ports, target};
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
    let mut subsets = Vec::new();
    for (mut ports, group) in by_pods(service, placed) {
        sort_ports(&mut ports);
        let (ready, unready): (Vec<&Value>, Vec<&Value>) =
            group.into_iter().partition(|pod| always || is_ready(pod));
        let mut subset = json!({});
        for (field, part) in [("addresses", ready), ("notReadyAddresses", unready)] {
            if !part.is_empty() {
                let all = part.iter().map(|pod| address(service, pod, family));
                let mut all: Vec<Value> = all.collect();
                sort_addresses(&mut all);
                subset[field] = all.into();
            }
        }
        if !ports.is_empty() {
            subset["ports"] = ports.into_iter().map(unnamed).collect();
        }
        subsets.push(subset);
    }
    subsets.into()
}

/// The ports of a Service, with the Pods that have them. Ports of the same Pods stand together: other than an EndpointSlice, a subset has
/// not all ports of its Pods.
fn by_pods<'a>(service: &Value, pods: impl Iterator<Item = &'a Arc<Value>>) -> ByPorts<'a> {
    let portless = service["spec"]["ports"]
        .as_array()
        .is_none_or(Vec::is_empty);
    let pods: Vec<&Value> = pods.map(|pod| &**pod).collect();
    if portless && !pods.is_empty() {
        return vec![(Vec::new(), pods)];
    }
    let mut of_port: Vec<(Value, Vec<&Value>)> = Vec::new();
    for pod in pods {
        for port in ports(service, pod) {
            match of_port.iter_mut().find(|(known, _)| *known == port) {
                Some((_, group)) => group.push(pod),
                None => of_port.push((port, vec![pod])),
            }
        }
    }
    let mut groups = ByPorts::new();
    for (port, pods) in of_port {
        let uids = |pods: &[&'a Value]| pods.iter().map(|pod| meta::uid(pod)).collect::<Vec<_>>();
        match groups
            .iter_mut()
            .find(|(_, known)| uids(known) == uids(&pods))
        {
            Some((ports, _)) => ports.push(port),
            None => groups.push((vec![port], pods)),
        }
    }
    groups
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

/// Deletes the Endpoints of a deleted Service.
pub(super) fn forget(handle: &Handle, service: &Value) {
    let (namespace, name) = (meta::text(service, "namespace"), meta::name(service));
    // Most Services without a selector have none.
    let _ = handle.delete(
        &endpoints(),
        Some(namespace),
        name,
        &DeleteOptions::default(),
    );
}
