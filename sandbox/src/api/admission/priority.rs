use std::sync::Arc;

use serde_json::{Value, json};

use crate::core::Core;
use crate::meta;
use crate::registry::GroupResource;
use crate::store::Key;

const DEFAULT_POLICY: &str = "PreemptLowerPriority";

fn classes() -> GroupResource {
    GroupResource::new("scheduling.k8s.io", "priorityclasses")
}

/// Gives a new Pod the priority of its class, or of the default class.
///
/// # Errors
/// The class does not exist, or the Pod names another priority than its class.
pub(super) fn admit(core: &Core, pod: &mut Value) -> Result<(), String> {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(());
    };
    let named = spec.get("priorityClassName").and_then(Value::as_str);
    let class = match named.filter(|name| !name.is_empty()) {
        Some(name) => {
            let found = core.store.get(&classes(), &Key::new(None, name));
            let found =
                found.ok_or_else(|| format!("no PriorityClass with name {name} was found"))?;
            Some(found.object)
        }
        None => default_class(core),
    };
    let (value, policy) = match &class {
        Some(class) => {
            spec.insert("priorityClassName".into(), meta::name(class).into());
            let value = class["value"].as_i64().unwrap_or(0);
            (value, class["preemptionPolicy"].as_str())
        }
        None => (0, None),
    };
    let policy = policy.unwrap_or(DEFAULT_POLICY);
    const REST: &str = "from the given PriorityClass name";
    let given = spec.get("priority").filter(|given| !given.is_null());
    if let Some(given) = given.filter(|given| **given != json!(value)) {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} {REST}"
        ));
    }
    let given = spec.get("preemptionPolicy").and_then(Value::as_str);
    if let Some(given) = given.filter(|given| *given != policy) {
        return Err(format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} {REST}"
        ));
    }
    spec.insert("priority".into(), value.into());
    spec.insert("preemptionPolicy".into(), policy.into());
    Ok(())
}

/// Keeps what [`admit`] has set, if a change leaves it out.
pub(super) fn keep(current: &Value, pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for field in ["priority", "preemptionPolicy"] {
        let known = &current["spec"][field];
        if spec.get(field).is_none_or(Value::is_null) && !known.is_null() {
            spec.insert(field.into(), known.clone());
        }
    }
}

/// Allows a class to be the default only if no other one is.
///
/// # Errors
/// Another class is the default.
pub(super) fn admit_class(
    core: &Core,
    class: &Value,
    current: Option<&Value>,
) -> Result<(), String> {
    if class["globalDefault"] != true {
        return Ok(());
    }
    match default_class(core) {
        Some(other) if current.is_none_or(|current| meta::name(current) != meta::name(&other)) => {
            Err(format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                meta::name(&other)
            ))
        }
        _ => Ok(()),
    }
}

/// The class of Pods that name none: of several the one with the lowest priority.
fn default_class(core: &Core) -> Option<Arc<Value>> {
    let listed = core.store.list(&classes(), None, None, None)?.ok()?;
    let all = listed.entries.into_iter().map(|entry| entry.object);
    all.filter(|class| class["globalDefault"] == true)
        .min_by_key(|class| class["value"].as_i64())
}
