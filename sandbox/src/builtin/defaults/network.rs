use serde_json::{Map, Value, json};

use super::fields::{each, ensure, fill, object};

/// The core kind Endpoints.
pub(super) fn endpoints(fields: &mut Map<String, Value>) {
    each(fields, "subsets", |subset| {
        each(subset, "ports", |port| fill(port, "protocol", "TCP"));
    });
}

/// `discovery.k8s.io`.
pub(super) fn endpoint_slice(fields: &mut Map<String, Value>) {
    each(fields, "ports", |port| {
        fill(port, "name", "");
        fill(port, "protocol", "TCP");
    });
}

/// `networking.k8s.io`.
pub(super) fn networking(kind: &str, fields: &mut Map<String, Value>) {
    let Some(spec) = ensure(fields, "spec") else {
        return;
    };
    match kind {
        "NetworkPolicy" => network_policy(spec),
        "IngressClass" => {
            if let Some(parameters) = object(spec, "parameters") {
                fill(parameters, "scope", "Cluster");
            }
        }
        _ => {}
    }
}

/// A policy without types is one for incoming traffic, and also for outgoing traffic if it has rules for it.
fn network_policy(spec: &mut Map<String, Value>) {
    let types = match spec.get("egress").and_then(Value::as_array) {
        Some(rules) if !rules.is_empty() => json!(["Ingress", "Egress"]),
        _ => json!(["Ingress"]),
    };
    fill(spec, "policyTypes", types);
    for direction in ["ingress", "egress"] {
        each(spec, direction, |rule| {
            each(rule, "ports", |port| fill(port, "protocol", "TCP"));
        });
    }
}
