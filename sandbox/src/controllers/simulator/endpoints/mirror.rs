//! EndpointSlices of the Endpoints that others write for a Service without a selector.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::endpoints::endpoints;
use super::slices::{MANAGED_BY, SERVICE_NAME, same_ports, slices};
use super::subsets::{self, Subset};
use crate::api::{DeleteOptions, Handle};
use crate::controllers::simulator::events::{self, Message};
use crate::controllers::simulator::object::{controller_reference, update};
use crate::meta;

const CONTROLLER: &str = "endpointslicemirroring-controller.k8s.io";
/// The label of Endpoints that have no EndpointSlices.
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";
/// The annotation of Endpoints that are a lock for the election of a leader.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";
/// Annotations that are about the Endpoints only.
const OWN_ANNOTATIONS: [&str; 2] = [
    "endpoints.kubernetes.io/last-change-trigger-time",
    "kubectl.kubernetes.io/last-applied-configuration",
];
/// The most addresses of a subset that a slice has.
const MOST: usize = 1000;

/// The content of a slice.
struct Wanted {
    family: &'static str,
    ports: Value,
    endpoints: Vec<Value>,
}

/// Writes the slices of the Endpoints that belong to a Service without a selector.
pub(super) fn reconcile(handle: &Handle, service: &Value) {
    let (namespace, name) = (meta::text(service, "namespace"), meta::name(service));
    let found = handle.get(&endpoints(), Some(namespace), name);
    let Some(source) = found.filter(|found| is_mirrored(found)) else {
        return remove(handle, service);
    };
    let mut known = mirrored(handle, service);
    let mut rest = Vec::new();
    for wanted in wanted(handle, &source) {
        match take(&mut known, &wanted, |slice| {
            same_ports(slice, &wanted.ports)
        }) {
            Some(slice) => write(handle, &source, &slice, &wanted),
            None => rest.push(wanted),
        }
    }
    // A slice that nothing wants any more is used again for other ports of its family.
    for wanted in rest {
        match take(&mut known, &wanted, |_| true) {
            Some(slice) => write(handle, &source, &slice, &wanted),
            None => create(handle, &source, &wanted),
        }
    }
    delete(handle, &known);
}

/// Deletes the slices of Endpoints that are gone or are not mirrored.
pub(super) fn remove(handle: &Handle, service: &Value) {
    delete(handle, &mirrored(handle, service));
}

fn is_mirrored(endpoints: &Value) -> bool {
    let metadata = &endpoints["metadata"];
    metadata["labels"][SKIP] != "true" && metadata["annotations"][LEADER].is_null()
}

/// The slices that were written for a Service.
fn mirrored(handle: &Handle, service: &Value) -> Vec<Arc<Value>> {
    let mut known = handle.list(&slices(), Some(meta::text(service, "namespace")));
    known.retain(|slice| {
        let labels = &slice["metadata"]["labels"];
        labels[MANAGED_BY] == CONTROLLER && labels[SERVICE_NAME] == meta::name(service)
    });
    known
}

fn take(
    known: &mut Vec<Arc<Value>>,
    wanted: &Wanted,
    fits: impl Fn(&Value) -> bool,
) -> Option<Arc<Value>> {
    let at = known
        .iter()
        .position(|slice| slice["addressType"] == wanted.family && fits(slice))?;
    Some(known.remove(at))
}

fn wanted(handle: &Handle, source: &Value) -> Vec<Wanted> {
    let mut all = Vec::new();
    let mut skipped = 0;
    for Subset { ports, addresses } in subsets::canonical(source) {
        let ports: Value = ports.into_iter().map(port).collect();
        skipped += addresses.len().saturating_sub(MOST);
        let mut of_family: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (address, ready) in addresses.into_iter().take(MOST) {
            if let Some((family, endpoint)) = endpoint(address, ready) {
                of_family.entry(family).or_default().push(endpoint);
            }
        }
        all.extend(of_family.into_iter().map(|(family, endpoints)| Wanted {
            family,
            ports: ports.clone(),
            endpoints,
        }));
    }
    if skipped > 0 {
        let what = Message {
            component: "endpoint-slice-mirroring-controller",
            warning: true,
            reason: "TooManyAddressesToMirror",
        };
        let text = format!(
            "A max of {MOST} addresses can be mirrored to EndpointSlices per Endpoints subset. {skipped} addresses were skipped"
        );
        events::record(handle, source, what, &text);
    }
    all
}

/// A port of Endpoints, with the name that EndpointSlices do not leave out.
fn port(port: &Value) -> Value {
    let mut port = port.clone();
    if port["name"].is_null() {
        port["name"] = "".into();
    }
    port
}

/// An address of Endpoints as an endpoint of a slice, with its family.
fn endpoint(address: &Value, ready: bool) -> Option<(&'static str, Value)> {
    let ip: IpAddr = address["ip"].as_str()?.parse().ok()?;
    let ip = ip.to_canonical();
    let family = if ip.is_ipv4() { "IPv4" } else { "IPv6" };
    let mut endpoint = json!({"addresses": [ip], "conditions": {"ready": ready}});
    for field in ["targetRef", "nodeName", "hostname"] {
        if !address[field].is_null() {
            endpoint[field] = address[field].clone();
        }
    }
    Some((family, endpoint))
}

/// The labels, the annotations and the owner of a slice.
fn stamp(source: &Value, slice: &mut Value) {
    let copied = |field: &str| {
        let fields = source["metadata"][field].as_object();
        fields.cloned().unwrap_or_default()
    };
    let mut labels: Map<String, Value> = copied("labels");
    labels.insert(SERVICE_NAME.into(), meta::name(source).into());
    labels.insert(MANAGED_BY.into(), CONTROLLER.into());
    let mut annotations = copied("annotations");
    annotations.retain(|key, _| !OWN_ANNOTATIONS.contains(&key.as_str()));
    let metadata = &mut slice["metadata"];
    metadata["labels"] = labels.into();
    if annotations.is_empty() {
        if let Some(fields) = metadata.as_object_mut() {
            fields.remove("annotations");
        }
    } else {
        metadata["annotations"] = annotations.into();
    }
    metadata["ownerReferences"] = json!([controller_reference(source)]);
}

fn write(handle: &Handle, source: &Value, slice: &Value, wanted: &Wanted) {
    // A write that changes nothing is not stored.
    update(handle, &slices(), slice, "", |slice| {
        stamp(source, slice);
        slice["ports"] = wanted.ports.clone();
        slice["endpoints"] = wanted.endpoints.clone().into();
    });
}

fn create(handle: &Handle, source: &Value, wanted: &Wanted) {
    if meta::is_deleting(source) {
        return;
    }
    let (namespace, name) = (meta::text(source, "namespace"), meta::name(source));
    let mut slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"generateName": format!("{name}-"), "namespace": namespace},
        "addressType": wanted.family, "ports": wanted.ports, "endpoints": wanted.endpoints,
    });
    stamp(source, &mut slice);
    if let Err(error) = handle.create(&slices(), slice) {
        tracing::debug!(%namespace, %name, %error, "the simulator cannot create the EndpointSlice of the Endpoints");
    }
}

fn delete(handle: &Handle, slices_of: &[Arc<Value>]) {
    for slice in slices_of {
        let namespace = meta::text(slice, "namespace");
        // An error means that it is gone already.
        let options = DeleteOptions::default();
        let _ = handle.delete(&slices(), Some(namespace), meta::name(slice), &options);
    }
}
