//! The nodes: their objects, and which Pods fit on them.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::object::{is_true, nodes, update};
use crate::api::{Handle, NOT_READY};
use crate::meta;
use crate::pods::node_number;

/// Creates this many nodes: `sandbox`, `sandbox-2`, and so on.
pub(super) fn create(handle: &Handle, count: u32) {
    for number in 1..=count.max(1) {
        let name = match number {
            1 => "sandbox".to_owned(),
            _ => format!("sandbox-{number}"),
        };
        // A node of the data folder stays.
        match handle.create(&nodes(), node(handle, &name)) {
            Ok(node) => settle(handle, &node),
            Err(error) if error.reason == "AlreadyExists" => {}
            Err(error) => {
                tracing::warn!(%name, %error, "the simulator cannot create its node");
            }
        }
    }
}

/// Lets Pods come to a node that is ready.
pub(super) fn settle(handle: &Handle, node: &Value) {
    let is_it = |taint: &Value| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule";
    let taints = node["spec"]["taints"].as_array();
    let is_tainted = taints.is_some_and(|taints| taints.iter().any(is_it));
    if !is_tainted || !is_true(node, "Ready") {
        return;
    }
    update(handle, &nodes(), node, "", |node| {
        let Some(spec) = node["spec"].as_object_mut() else {
            return;
        };
        if let Some(Value::Array(taints)) = spec.get_mut("taints") {
            taints.retain(|taint| !is_it(taint));
        }
        if spec.get("taints") == Some(&json!([])) {
            spec.remove("taints");
        }
    });
}

/// The same on every machine, so that what a client shows is the same, too.
const ARCHITECTURE: &str = "amd64";

fn node(handle: &Handle, name: &str) -> Value {
    let now = handle.core().clock.timestamp();
    let resources = json!({"cpu": "8", "memory": "32Gi", "pods": "1000"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/arch": ARCHITECTURE, "kubernetes.io/os": "linux"},
        },
        "status": {
            "addresses": [{"type": "InternalIP", "address": address(name)}, {"type": "Hostname", "address": name}],
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "message": "simulated",
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
            }],
            "nodeInfo": {
                "architecture": ARCHITECTURE, "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
                "kubeletVersion": crate::builtin::source().rsplit(' ').next(),
                "machineID": "", "operatingSystem": "linux", "osImage": "", "systemUUID": "",
            },
        },
    })
}

/// The address of a simulated node.
pub(super) fn address(name: &str) -> String {
    let number = node_number(name).unwrap_or(1);
    let first = u32::from(Ipv4Addr::new(10, 0, 0, 0));
    Ipv4Addr::from(first.saturating_add(number)).to_string()
}

pub(super) fn is_simulated(name: &str) -> bool {
    node_number(name).is_some()
}

/// Why a Pod does not fit on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Misfit {
    Affinity,
    Cordoned,
    Taint,
    Volume,
    NoVolume,
}

impl Misfit {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Affinity => "node(s) didn't match Pod's node affinity/selector",
            Self::Cordoned => "node(s) were unschedulable",
            Self::Taint => "node(s) had untolerated taint(s)",
            Self::Volume => "node(s) didn't match PersistentVolume's node affinity",
            Self::NoVolume => "node(s) didn't find available persistent volumes to bind",
        }
    }
}

/// Why a Pod with this specification does not fit on a node; `None` if it does.
pub(super) fn misfit(node: &Value, spec: &Value) -> Option<Misfit> {
    if !selects(node, spec) {
        return Some(Misfit::Affinity);
    }
    repelled(node, spec)
}

/// Why a node takes no Pod with this specification, whichever nodes the Pod selects.
pub(super) fn repelled(node: &Value, spec: &Value) -> Option<Misfit> {
    let cordon = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
    if node["spec"]["unschedulable"] == true && !tolerates(spec, &cordon) {
        return Some(Misfit::Cordoned);
    }
    let repelled = ["NoSchedule", "NoExecute"]
        .iter()
        .any(|effect| repels(node, spec, effect));
    repelled.then_some(Misfit::Taint)
}

/// Whether a node has a taint with this effect that the Pod does not tolerate.
pub(super) fn repels(node: &Value, spec: &Value, effect: &str) -> bool {
    let taints = node.pointer("/spec/taints").and_then(Value::as_array);
    let mut taints = taints.into_iter().flatten();
    taints.any(|taint| taint["effect"] == effect && !tolerates(spec, taint))
}

fn tolerates(spec: &Value, taint: &Value) -> bool {
    toleration(spec, taint).is_some()
}

/// The first toleration of a Pod for a taint.
pub(super) fn toleration<'a>(spec: &'a Value, taint: &Value) -> Option<&'a Value> {
    let tolerations = spec["tolerations"].as_array()?;
    let empty = |value: &Value| value.as_str().is_none_or(str::is_empty);
    tolerations.iter().find(|toleration| {
        let effect = empty(&toleration["effect"]) || toleration["effect"] == taint["effect"];
        let exists = toleration["operator"] == "Exists";
        let key = empty(&toleration["key"]) && exists || toleration["key"] == taint["key"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let value = exists || text(&toleration["value"]) == text(&taint["value"]);
        effect && key && value
    })
}

/// Whether the node selector and the required node affinity of a Pod select a node.
fn selects(node: &Value, spec: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    let selector = spec["nodeSelector"].as_object();
    let mut wanted = selector.into_iter().flatten();
    if wanted.any(|(key, value)| labels.get(key) != Some(value)) {
        return false;
    }
    terms(spec).is_none_or(|terms| is_selected(node, terms))
}

/// Whether one of the terms of a node selector selects a node.
pub(super) fn is_selected(node: &Value, terms: &[Value]) -> bool {
    let labels = &node["metadata"]["labels"];
    let name = json!({"metadata.name": meta::name(node)});
    terms.iter().any(|term| {
        let all = |list: &str, of: &Value| {
            let requirements = term[list].as_array().into_iter().flatten();
            requirements.into_iter().all(|one| holds(one, of))
        };
        let empty = term["matchExpressions"].is_null() && term["matchFields"].is_null();
        !empty && all("matchExpressions", labels) && all("matchFields", &name)
    })
}

fn terms(spec: &Value) -> Option<&Vec<Value>> {
    let path =
        "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    spec.pointer(path)?.as_array()
}

/// The node that the affinity of a Pod names, as that of a DaemonSet's Pod does.
pub(super) fn named(spec: &Value) -> Option<&str> {
    let fields = terms(spec)?.first()?["matchFields"].as_array()?;
    let of_name = |field: &&Value| field["key"] == "metadata.name" && field["operator"] == "In";
    fields.iter().find(of_name)?["values"][0].as_str()
}

/// Whether a requirement of a node selector holds for labels or fields.
fn holds(requirement: &Value, of: &Value) -> bool {
    let found = requirement["key"].as_str().and_then(|key| of.get(key));
    let values = requirement["values"].as_array();
    let listed = found.is_some_and(|found| values.is_some_and(|values| values.contains(found)));
    let number = |value: Option<&Value>| value?.as_str()?.parse::<i64>().ok();
    let bound = number(values.and_then(|values| values.first()));
    match requirement["operator"].as_str().unwrap_or_default() {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        "Gt" => number(found)
            .zip(bound)
            .is_some_and(|(found, bound)| found > bound),
        "Lt" => number(found)
            .zip(bound)
            .is_some_and(|(found, bound)| found < bound),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(node: &Value, spec: Value) -> bool {
        misfit(node, &spec).is_none()
    }

    #[test]
    fn a_pod_fits_on_nodes_that_it_selects() {
        let node = json!({"metadata": {"name": "a", "labels": {"zone": "x", "cores": "8"}}});
        let affinity = |list: &str, key: &str, operator: &str, values: Value| {
            let term = json!({list: [{"key": key, "operator": operator, "values": values}]});
            let required = json!({"nodeSelectorTerms": [term]});
            json!({"affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": required,
            }}})
        };
        assert!(fits(&node, json!({})));
        assert!(fits(&node, json!({"nodeSelector": {"zone": "x"}})));
        assert!(!fits(&node, json!({"nodeSelector": {"zone": "y"}})));
        for (operator, key, values, expected) in [
            ("In", "zone", json!(["x", "y"]), true),
            ("In", "zone", json!(["y"]), false),
            ("NotIn", "zone", json!(["y"]), true),
            ("Exists", "disk", json!([]), false),
            ("DoesNotExist", "disk", json!([]), true),
            ("Gt", "cores", json!(["7"]), true),
            ("Lt", "cores", json!(["8"]), false),
        ] {
            let spec = affinity("matchExpressions", key, operator, values);
            assert_eq!(fits(&node, spec), expected, "{operator} {key}");
        }
        let other = affinity("matchFields", "metadata.name", "In", json!(["b"]));
        assert_eq!(misfit(&node, &other), Some(Misfit::Affinity));
        assert_eq!(named(&other), Some("b"));
    }

    #[test]
    fn a_taint_keeps_pods_away_that_do_not_tolerate_it() {
        let taint = json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"});
        let node = json!({"metadata": {"name": "a"}, "spec": {"taints": [taint]}});
        let with = |toleration: Value| json!({"tolerations": [toleration]});
        assert_eq!(misfit(&node, &json!({})), Some(Misfit::Taint));
        assert!(fits(&node, with(json!({"operator": "Exists"}))));
        assert!(fits(&node, with(json!({"key": "gpu", "value": "yes"}))));
        assert!(!fits(&node, with(json!({"key": "gpu", "value": "no"}))));
        assert!(!fits(
            &node,
            with(json!({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}))
        ));
        let cordoned = json!({"metadata": {"name": "a"}, "spec": {"unschedulable": true}});
        assert_eq!(misfit(&cordoned, &json!({})), Some(Misfit::Cordoned));
    }

    #[test]
    fn each_node_has_an_address() {
        assert_eq!(address("sandbox"), "10.0.0.1");
        assert_eq!(address("sandbox-300"), "10.0.1.44");
        assert!(is_simulated("sandbox-2") && !is_simulated("sandbox-x") && !is_simulated("node"));
    }
}
