//! Objects of a custom resource.

use serde_json::{Map, Value, json};

use super::{FIRST_VERSION, Random, app::App, managed_fields, random::suffix};

pub(super) fn widget(app: &App, number: u64, random: &mut Random) -> Value {
    let settings: Map<String, Value> = app.containers[0]
        .env
        .iter()
        .take(random.long_tailed(1, 12))
        .map(|(key, value)| (key.clone(), value.clone().into()))
        .collect();
    let spec = json!({
        "image": app.containers[0].image,
        "replicas": 1 + random.below(9),
        "settings": settings,
        "schedule": format!("{} {} * * *", random.below(60), random.below(24)),
    });
    let status = json!({
        "readyReplicas": random.below(9),
        "observedGeneration": 1 + random.below(30),
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "AllReplicasReady",
            "message": "every replica answers", "lastTransitionTime": random.time(),
        }],
    });
    let fields = managed_fields::fields_of(&json!({"spec": spec}));
    let seen = managed_fields::fields_of(&json!({"status": status}));
    let labels: Map<String, Value> = app
        .labels
        .iter()
        .map(|(key, value)| (key.clone(), value.clone().into()))
        .collect();
    json!({
        "metadata": {
            "name": format!("{}-{}", app.name, suffix(number)),
            "namespace": app.namespace,
            "uid": random.uid(),
            "generation": 1 + random.below(30),
            "resourceVersion": (FIRST_VERSION + number).to_string(),
            "creationTimestamp": random.time(),
            "labels": labels,
            "managedFields": [
                managed_fields::entry("kubectl-client-side-apply", None, fields, random),
                managed_fields::entry("widget-operator", Some("status"), seen, random),
            ],
        },
        "spec": spec,
        "status": status,
    })
}
