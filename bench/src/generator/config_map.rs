//! ConfigMaps.

use serde_json::{Map, Value, json};

use super::{FIRST_VERSION, Random, app::App, managed_fields, random::suffix};

pub(super) fn config_map(app: &App, number: u64, random: &mut Random) -> Value {
    let mut data = Map::new();
    for place in 0..random.long_tailed(1, 8) {
        let text = format!("{}-{}", random.hex(32), app.name);
        data.insert(format!("setting-{place}"), text.into());
    }
    let labels: Map<String, Value> = app
        .labels
        .iter()
        .take(2)
        .map(|(key, value)| (key.clone(), value.clone().into()))
        .collect();
    let fields = managed_fields::fields_of(&json!({"data": data}));
    json!({
        "metadata": {
            "name": format!("{}-{}", app.name, suffix(number)),
            "namespace": app.namespace,
            "uid": random.uid(),
            "resourceVersion": (FIRST_VERSION + number).to_string(),
            "creationTimestamp": random.time(),
            "labels": labels,
            "managedFields": [managed_fields::entry("kubectl-create", None, fields, random)],
        },
        "data": data,
    })
}

/// Returns a ConfigMap with one short value and neither labels nor managed fields.
pub(super) fn small(app: &App, number: u64, random: &mut Random) -> Value {
    json!({
        "metadata": {
            "name": format!("{}-{}", app.name, suffix(number)),
            "namespace": app.namespace,
            "uid": random.uid(),
            "resourceVersion": (FIRST_VERSION + number).to_string(),
            "creationTimestamp": random.time(),
        },
        "data": {"value": random.hex(54)},
    })
}
