//! Services: their defaults, and what a change keeps of the addresses and ports that the server has given them.

use serde_json::{Map, Value, json};

use super::fields::{each, ensure, fill};

/// The defaults of a Service.
pub(super) fn service(fields: &mut Map<String, Value>) {
    let Some(spec) = ensure(fields, "spec") else {
        return;
    };
    fill(spec, "type", "ClusterIP");
    fill(spec, "sessionAffinity", "None");
    if spec.get("sessionAffinity").and_then(Value::as_str) == Some("ClientIP") {
        fill(
            spec,
            "sessionAffinityConfig",
            json!({"clientIP": {"timeoutSeconds": 10800}}),
        );
    }
    each(spec, "ports", |port| {
        fill(port, "protocol", "TCP");
        if let Some(number) = port.get("port").cloned() {
            fill(port, "targetPort", number);
        }
    });
    let (exposed, balanced) = (is_exposed(spec), is_balanced(spec));
    if has_address(spec) {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if exposed {
        fill(spec, "externalTrafficPolicy", "Cluster");
    }
    if balanced {
        fill(spec, "allocateLoadBalancerNodePorts", true);
    }
    if let Some(status) = ensure(fields, "status") {
        fill(status, "loadBalancer", json!({}));
    }
}

/// Keeps the addresses and ports if a change does not mention them, and drops what a Service of the new type does not have, unless the
/// change mentions it.
pub(super) fn keep_allocated(fields: &mut Map<String, Value>, old: &Value) {
    let old = old.get("spec").and_then(Value::as_object);
    if let (Some(old), Some(spec)) = (old, ensure(fields, "spec")) {
        keep(spec, old);
        drop_unused(spec, old);
    }
}

type Spec = Map<String, Value>;
/// Whether a Service has something.
type Has = fn(&Spec) -> bool;

fn kind(spec: &Spec) -> &str {
    spec.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn has_address(spec: &Spec) -> bool {
    kind(spec) != "ExternalName"
}

/// Whether the server gives the Service ports of the nodes.
pub(crate) fn has_node_ports(spec: &Spec) -> bool {
    let declined = spec.get("allocateLoadBalancerNodePorts") == Some(&json!(false));
    kind(spec) == "NodePort" || kind(spec) == "LoadBalancer" && !declined
}

/// Whether ports of the nodes lead to the Service, if it has any.
fn takes_node_ports(spec: &Spec) -> bool {
    matches!(kind(spec), "NodePort" | "LoadBalancer")
}

/// Whether nodes tell on a port of their own whether they have Pods of the Service.
pub(crate) fn has_health_check(spec: &Spec) -> bool {
    kind(spec) == "LoadBalancer" && spec.get("externalTrafficPolicy") == Some(&json!("Local"))
}

fn is_exposed(spec: &Spec) -> bool {
    let addresses = spec.get("externalIPs").and_then(Value::as_array);
    let has_addresses = addresses.is_some_and(|list| !list.is_empty());
    matches!(kind(spec), "NodePort" | "LoadBalancer") || kind(spec) == "ClusterIP" && has_addresses
}

fn is_balanced(spec: &Spec) -> bool {
    kind(spec) == "LoadBalancer"
}

fn node_ports(spec: &Spec) -> Vec<&Value> {
    let ports = spec.get("ports").and_then(Value::as_array);
    let numbers = ports.into_iter().flatten().map(|port| &port["nodePort"]);
    numbers.filter(|number| !number.is_null()).collect()
}

fn drop_unused(spec: &mut Spec, old: &Spec) {
    let all: [(Has, &[&str]); 5] = [
        (
            has_address,
            &[
                "clusterIP",
                "clusterIPs",
                "ipFamilies",
                "ipFamilyPolicy",
                "internalTrafficPolicy",
            ],
        ),
        (has_health_check, &["healthCheckNodePort"]),
        (
            is_balanced,
            &["allocateLoadBalancerNodePorts", "loadBalancerClass"],
        ),
        (is_exposed, &["externalTrafficPolicy"]),
        (takes_node_ports, &[]),
    ];
    for (has, names) in all {
        if !has(old) || has(spec) {
            continue;
        }
        for name in names {
            if spec.get(*name) == old.get(*name) {
                spec.remove(*name);
            }
        }
        let known = node_ports(old);
        let has_only_known = |ports: Vec<&Value>| ports.iter().all(|port| known.contains(port));
        if names.is_empty() && has_only_known(node_ports(spec)) {
            each(spec, "ports", |port| {
                port.remove("nodePort");
            });
        }
    }
}

fn keep(spec: &mut Spec, old: &Spec) {
    if has_address(spec) && has_address(old) {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if let Some(value) = old.get(field) {
                fill(spec, field, value.clone());
            }
        }
    }
    // A client that knows one address only changes only that.
    if spec.get("clusterIP") != old.get("clusterIP")
        && spec.get("clusterIPs") == old.get("clusterIPs")
    {
        match spec.get("clusterIP").cloned() {
            Some(address) => spec.insert("clusterIPs".into(), json!([address])),
            None => spec.remove("clusterIPs"),
        };
    }
    if has_node_ports(spec) && has_node_ports(old) {
        let known = node_ports(old);
        let mentioned = node_ports(spec)
            .into_iter()
            .filter(|port| known.contains(port));
        let mentioned: Vec<Value> = mentioned.cloned().collect();
        let of_old = old.get("ports").and_then(Value::as_array);
        each(spec, "ports", |port| {
            let name = port.get("name");
            let mut of_old = of_old.into_iter().flatten();
            let known = of_old.rfind(|known| known.get("name") == name);
            let known = known.map(|known| known["nodePort"].clone());
            if let Some(number) = known.filter(|one| !one.is_null() && !mentioned.contains(one)) {
                fill(port, "nodePort", number);
            }
        });
    }
    if has_health_check(spec)
        && has_health_check(old)
        && let Some(number) = old.get("healthCheckNodePort")
    {
        fill(spec, "healthCheckNodePort", number.clone());
    }
}
