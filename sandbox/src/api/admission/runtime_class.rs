use std::sync::Arc;

use serde_json::{Value, json};

use super::resources;
use crate::core::Core;
use crate::registry::GroupResource;
use crate::store::Key;

/// Gives a new Pod the overhead, the node selector and the tolerations of its runtime class.
///
/// # Errors
/// The class does not exist, or contradicts the Pod.
pub(super) fn admit(core: &Core, pod: &mut Value) -> Result<(), String> {
    let class = class_of(core, pod)?.unwrap_or_default();
    let overhead = &class["overhead"];
    let own = resources::read(&pod["spec"]["overhead"]);
    if overhead.is_object() {
        let fixed = resources::read(&overhead["podFixed"]);
        if !own.is_empty() && own != fixed {
            let text = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
            return Err(text.into());
        }
        pod["spec"]["overhead"] = resources::to_json(&fixed);
    } else if !pod["spec"]["overhead"].is_null() {
        return Err(
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                .into(),
        );
    }
    let scheduling = &class["scheduling"];
    for (key, value) in scheduling["nodeSelector"].as_object().into_iter().flatten() {
        let selector = &mut pod["spec"]["nodeSelector"];
        let own = selector.get(key);
        if let Some(own) = own.and_then(Value::as_str).filter(|own| value != own) {
            let value = value.as_str().unwrap_or_default();
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            ));
        }
        selector[key] = value.clone();
    }
    if scheduling.is_object() {
        let own = resources::list(pod, "/spec/tolerations");
        let all: Vec<Value> = own
            .chain(resources::list(scheduling, "/tolerations"))
            .cloned()
            .collect();
        if !all.is_empty() {
            pod["spec"]["tolerations"] = merged(&all).into();
        }
    }
    Ok(())
}

fn class_of(core: &Core, pod: &Value) -> Result<Option<Arc<Value>>, String> {
    let Some(name) = pod["spec"]["runtimeClassName"].as_str() else {
        return Ok(None);
    };
    let classes = GroupResource::new("node.k8s.io", "runtimeclasses");
    let found = core.store.get(&classes, &Key::new(None, name));
    let found = found.ok_or_else(|| format!("pod rejected: RuntimeClass {name:?} not found"))?;
    Ok(Some(found.object))
}

/// The tolerations without those that another one includes.
fn merged(all: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let mut later = all.iter().skip(at + 1);
        let redundant = merged.iter().any(|known| includes(known, one))
            || later.any(|other| other != one && includes(other, one));
        if !redundant {
            merged.push(one.clone());
        }
    }
    merged
}

/// Whether a toleration tolerates all that the other one tolerates.
fn includes(one: &Value, other: &Value) -> bool {
    let text = |of: &Value, field: &str| of[field].as_str().unwrap_or_default().to_owned();
    let same = |field: &str| text(one, field) == text(other, field);
    let any_key = text(one, "key").is_empty() && one["operator"] == "Exists";
    let effect = text(one, "effect");
    if one == other {
        return true;
    }
    if !same("key") && !any_key || !same("effect") && !effect.is_empty() {
        return false;
    }
    let seconds = |of: &Value| of["tolerationSeconds"].as_i64();
    if effect == "NoExecute"
        && let Some(most) = seconds(one)
        && seconds(other).is_none_or(|other| other > most)
    {
        return false;
    }
    match &*text(one, "operator") {
        "Exists" => true,
        "" | "Equal" => other["operator"] == json!("Equal") && same("value"),
        _ => false,
    }
}
