use serde_json::{Value, json};

/// The taint of a node that is not known to be ready.
pub(crate) const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Keeps Pods away from a new node, until a controller finds that it is ready.
pub(super) fn admit(node: &mut Value) {
    let Some(fields) = node.as_object_mut() else {
        return;
    };
    let spec = fields.entry("spec").or_insert_with(|| json!({}));
    let Some(spec) = spec.as_object_mut() else {
        return;
    };
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    let Some(taints) = taints.as_array_mut() else {
        return;
    };
    let is_it = |taint: &Value| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule";
    if !taints.iter().any(is_it) {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}
