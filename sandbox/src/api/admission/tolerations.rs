use serde_json::{Value, json};

/// How long a Pod stays on a node with such a taint, in seconds.
const STAY: i64 = 300;
const TAINTS: [&str; 2] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
];

/// Adds the tolerations for nodes that do not answer, unless the Pod has its own.
pub(super) fn admit(pod: &mut Value) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for taint in TAINTS {
        let tolerations = spec.entry("tolerations").or_insert(Value::Null);
        if tolerations.is_null() {
            *tolerations = json!([]);
        }
        let Some(tolerations) = tolerations.as_array_mut() else {
            return;
        };
        let any_or = |value: &Value, wanted: &str| {
            value
                .as_str()
                .is_none_or(|text| text.is_empty() || text == wanted)
        };
        let tolerates =
            |one: &Value| any_or(&one["key"], taint) && any_or(&one["effect"], "NoExecute");
        if !tolerations.iter().any(tolerates) {
            tolerations.push(json!({
                "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": STAY,
            }));
        }
    }
}
