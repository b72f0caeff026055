use serde_json::{Map, Value, json};

use super::fields::{each, ensure, fill, object};
use super::pod::canonicalize_field;

/// A HorizontalPodAutoscaler in version 2.
pub(super) fn autoscaler(fields: &mut Map<String, Value>) {
    let Some(spec) = ensure(fields, "spec") else {
        return;
    };
    fill(spec, "minReplicas", 1);
    fill(
        spec,
        "metrics",
        json!([{
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
        }]),
    );
    each(spec, "metrics", |metric| quantities(metric, "target"));
    if let Some(behavior) = object(spec, "behavior") {
        for (direction, defaults) in [("scaleUp", scale_up()), ("scaleDown", scale_down())] {
            if let (Some(rules), Value::Object(defaults)) = (ensure(behavior, direction), defaults)
            {
                for (name, value) in defaults {
                    fill(rules, &name, value);
                }
            }
        }
    }
    if let Some(status) = ensure(fields, "status") {
        each(status, "currentMetrics", |metric| {
            quantities(metric, "current");
        });
    }
}

/// Writes the quantities of a metric, which stand below `place`, in their canonical form.
fn quantities(metric: &mut Map<String, Value>, place: &str) {
    for source in metric.values_mut().filter_map(Value::as_object_mut) {
        if let Some(place) = object(source, place) {
            for name in ["value", "averageValue"] {
                canonicalize_field(place, name);
            }
        }
    }
}

fn scale_up() -> Value {
    json!({
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    })
}

fn scale_down() -> Value {
    json!({
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    })
}
