//! The configurations of webhooks, and the bindings of admission rules, which are limited to the namespaces of the values.

use serde_json::Value;

use super::{
    chart::NAMESPACES,
    template::{Node, escaped},
};

/// The configuration for all namespaces, with the values of the chart where the one for some namespaces differs.
pub(super) fn configuration(all: &Value, limited: &Value) -> Node {
    let mut node = Node::Plain(all.clone());
    let pairs = webhooks(all).zip(webhooks(limited));
    for (number, (all, limited)) in pairs.enumerate() {
        let selector = &all["namespaceSelector"];
        if *selector == limited["namespaceSelector"] {
            continue;
        }
        let fixed = &selector["matchExpressions"];
        let Some(webhook) = node.child("webhooks").items().get_mut(number) else {
            continue;
        };
        let of_webhook = webhook.child("namespaceSelector");
        *of_webhook.child("matchExpressions") = Node::Items(requirements(fixed));
        // An empty list is no valid value.
        match (selector.is_object(), fixed.is_array()) {
            (false, _) => webhook.only_if("namespaceSelector", NAMESPACES),
            (true, false) => of_webhook.only_if("matchExpressions", NAMESPACES),
            (true, true) => {}
        }
    }
    node
}

/// The binding of an admission rule for all namespaces, with the values of the chart if the one for some namespaces is limited to them.
pub(super) fn binding(all: &Value, limited: &Value) -> Node {
    const MATCHED: &str = "matchResources";
    let mut node = Node::Plain(all.clone());
    if all["spec"][MATCHED] != limited["spec"][MATCHED] {
        let spec = node.child("spec");
        let selector = spec.child(MATCHED).child("namespaceSelector");
        *selector.child("matchExpressions") = Node::Items(requirements(&Value::Null));
        spec.only_if(MATCHED, NAMESPACES);
    }
    node
}

fn webhooks(configuration: &Value) -> impl Iterator<Item = &Value> {
    configuration["webhooks"].as_array().into_iter().flatten()
}

/// The fixed requirements, and the one for the namespaces of the values.
fn requirements(fixed: &Value) -> Vec<String> {
    let fixed = fixed.as_array().into_iter().flatten();
    // JSON is YAML on one line.
    let fixed = fixed.map(|requirement| format!("- {}", escaped(&requirement.to_string())));
    let limited = [
        format!("{{{{- with {NAMESPACES} }}}}"),
        "- key: kubernetes.io/metadata.name".into(),
        "  operator: In".into(),
        "  values: {{ toJson . }}".into(),
        "{{- end }}".into(),
    ];
    fixed.chain(limited).collect()
}
