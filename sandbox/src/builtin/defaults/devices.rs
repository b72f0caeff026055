use serde_json::{Map, Value};

use super::fields::{each, fill, object};
use super::pod::canonicalize_field;

/// `resource.k8s.io`.
pub(super) fn devices(kind: &str, fields: &mut Map<String, Value>) {
    let Some(spec) = object(fields, "spec") else {
        return;
    };
    match kind {
        "ResourceClaim" => claim(spec),
        "ResourceClaimTemplate" => {
            if let Some(spec) = object(spec, "spec") {
                claim(spec);
            }
        }
        "ResourceSlice" => each(spec, "devices", |device| {
            let capacity = object(device, "capacity").into_iter();
            for entry in capacity.flat_map(|entries| entries.values_mut()) {
                if let Some(entry) = entry.as_object_mut() {
                    canonicalize_field(entry, "value");
                }
            }
        }),
        _ => {}
    }
}

fn claim(spec: &mut Map<String, Value>) {
    let Some(devices) = object(spec, "devices") else {
        return;
    };
    each(devices, "requests", |request| {
        if let Some(exactly) = object(request, "exactly") {
            count(exactly);
        }
        each(request, "firstAvailable", count);
    });
}

fn count(request: &mut Map<String, Value>) {
    fill(request, "allocationMode", "ExactCount");
    if request.get("allocationMode").and_then(Value::as_str) == Some("ExactCount") {
        fill(request, "count", 1);
    }
}
