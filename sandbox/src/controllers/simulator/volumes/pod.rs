use std::sync::Arc;

use serde_json::Value;

use super::class::Class;
use super::{claim, volumes};
use crate::api::Handle;
use crate::controllers::simulator::node::{Misfit, is_selected};
use crate::controllers::simulator::object::claims;
use crate::meta;

/// The names of the claims that a Pod mounts.
pub(in crate::controllers::simulator) fn names(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    volumes
        .into_iter()
        .flatten()
        .filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str())
}

fn claims_of(handle: &Handle, pod: &Value) -> Vec<Arc<Value>> {
    let namespace = Some(meta::text(pod, "namespace"));
    let found = |name| handle.get(&claims(), namespace, name);
    names(pod).filter_map(found).collect()
}

fn is_bound(claim: &Value) -> bool {
    claim["status"]["phase"] == "Bound"
}

/// Why no node can be chosen for a Pod because of its claims.
pub(in crate::controllers::simulator) fn unbound(handle: &Handle, pod: &Value) -> Option<String> {
    let namespace = meta::text(pod, "namespace");
    names(pod).find_map(|name| match handle.get(&claims(), Some(namespace), name) {
        None => Some(format!("persistentvolumeclaim {name:?} not found")),
        Some(claim) if meta::is_deleting(&claim) => {
            Some(format!("persistentvolumeclaim {name:?} is being deleted"))
        }
        Some(claim) if claim["status"]["phase"] == "Lost" => Some(format!(
            "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {:?}",
            claim["spec"]["volumeName"].as_str().unwrap_or_default()
        )),
        Some(claim) if !is_bound(&claim) && !Class::of(handle, &claim).waits_for_consumer() => {
            Some("pod has unbound immediate PersistentVolumeClaims".to_owned())
        }
        Some(_) => None,
    })
}

/// Why a Pod cannot use its claims on a node; `None` if it can.
pub(in crate::controllers::simulator) fn fits(
    handle: &Handle,
    pod: &Value,
    node: &Value,
) -> Option<Misfit> {
    claims_of(handle, pod).iter().find_map(|claim| {
        if is_bound(claim) {
            let name = claim["spec"]["volumeName"].as_str()?;
            let volume = handle.get(&volumes(), None, name)?;
            return (!is_on(&volume, node)).then_some(Misfit::Volume);
        }
        let class = Class::of(handle, claim);
        let found = || claim::best(handle, claim, &class.name, Some(node), false);
        let lacks =
            class.waits_for_consumer() && class.provisioner().is_none() && found().is_none();
        lacks.then_some(Misfit::NoVolume)
    })
}

/// Lets the claims that wait for a consumer be bound for this node. Returns whether none has to wait.
pub(in crate::controllers::simulator) fn select_node(
    handle: &Handle,
    pod: &Value,
    node: &str,
) -> bool {
    let mut bound = true;
    for claim in claims_of(handle, pod)
        .iter()
        .filter(|claim| !is_bound(claim))
    {
        claim::select(handle, claim, node);
        bound = false;
    }
    bound
}

/// Whether the affinity of a volume allows a node.
pub(super) fn is_on(volume: &Value, node: &Value) -> bool {
    let terms = volume.pointer("/spec/nodeAffinity/required/nodeSelectorTerms");
    let terms = terms.and_then(Value::as_array);
    terms.is_none_or(|terms| is_selected(node, terms))
}
