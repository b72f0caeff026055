use serde_json::{Map, Value, json};

/// Where version 1 keeps what it has no field for.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
/// Annotations that only a conversion sets.
const RESERVED: [&str; 6] = [
    METRICS,
    BEHAVIOR,
    CURRENT_METRICS,
    CONDITIONS,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// Where a metric describes its source, in the order of version 1.
const SOURCES: [&str; 5] = [
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
];

/// Version 2 of a HorizontalPodAutoscaler of version 1.
pub(crate) fn autoscaler_to_stored(old: &Value) -> Value {
    let mut new = with_version(old, "autoscaling/v2");
    let notes = old.pointer("/metadata/annotations");
    let note =
        |name: &str| -> Option<Value> { serde_json::from_str(notes?.get(name)?.as_str()?).ok() };
    let spec = old.get("spec").and_then(Value::as_object);
    if let Some(spec) = spec {
        let mut spec = spec.clone();
        let cpu = spec.remove("targetCPUUtilizationPercentage");
        let other = note(METRICS).unwrap_or_default();
        let mut metrics: Vec<Value> = list(&other)
            .map(|metric| metric_from_old(metric, "target"))
            .collect();
        metrics.extend(cpu.map(|percent| cpu_metric("target", percent)));
        if metrics.is_empty() {
            metrics.push(cpu_metric("target", 80.into()));
        }
        spec.insert("metrics".into(), metrics.into());
        if let Some(behavior) = note(BEHAVIOR) {
            spec.insert("behavior".into(), lowered(&behavior));
        }
        new["spec"] = spec.into();
    }
    let status = old.get("status").and_then(Value::as_object);
    if let Some(status) = status {
        let mut status = status.clone();
        let cpu = status.remove("currentCPUUtilizationPercentage");
        let metrics = match note(CURRENT_METRICS) {
            Some(metrics) => list(&metrics)
                .map(|metric| metric_from_old(metric, "current"))
                .collect(),
            None => cpu
                .map(|percent| vec![cpu_metric("current", percent)])
                .unwrap_or_default(),
        };
        // Version 2 always writes the metrics, and zero replicas never.
        let metrics = if metrics.is_empty() {
            Value::Null
        } else {
            metrics.into()
        };
        status.insert("currentMetrics".into(), metrics);
        if status.get("currentReplicas") == Some(&json!(0)) {
            status.remove("currentReplicas");
        }
        if let Some(conditions) = note(CONDITIONS) {
            status.insert("conditions".into(), conditions);
        }
        new["status"] = status.into();
    }
    drop_reserved(&mut new);
    new
}

/// Version 1 of a HorizontalPodAutoscaler of version 2.
pub(crate) fn autoscaler_from_stored(new: &Value) -> Value {
    let mut old = with_version(new, "autoscaling/v1");
    drop_reserved(&mut old);
    let mut notes: Vec<(&str, String)> = Vec::new();
    let spec = new.get("spec").and_then(Value::as_object);
    if let Some(spec) = spec {
        let mut spec = spec.clone();
        let metrics = spec.remove("metrics").unwrap_or_default();
        let cpu = list(&metrics).find_map(|metric| utilization(metric, "target"));
        if let Some(percent) = cpu {
            spec.insert("targetCPUUtilizationPercentage".into(), percent.clone());
        }
        let others = list(&metrics).filter(|metric| utilization(metric, "target").is_none());
        let others: Vec<String> = others.map(|metric| old_metric(metric, "target")).collect();
        if !others.is_empty() {
            notes.push((METRICS, format!("[{}]", others.join(","))));
        }
        if let Some(behavior) = spec.remove("behavior") {
            notes.push((BEHAVIOR, internal_behavior(&behavior)));
        }
        old["spec"] = spec.into();
    }
    let status = new.get("status").and_then(Value::as_object);
    if let Some(status) = status {
        let mut status = status.clone();
        status.entry("currentReplicas").or_insert_with(|| json!(0));
        let metrics = status.remove("currentMetrics").unwrap_or_default();
        let cpu = list(&metrics).filter_map(|metric| utilization(metric, "current"));
        if let Some(percent) = cpu.last() {
            status.insert("currentCPUUtilizationPercentage".into(), percent.clone());
        }
        let current: Vec<String> = list(&metrics)
            .map(|metric| old_metric(metric, "current"))
            .collect();
        if !current.is_empty() {
            notes.push((CURRENT_METRICS, format!("[{}]", current.join(","))));
        }
        let conditions = status.remove("conditions").unwrap_or_default();
        let conditions: Vec<String> = list(&conditions).map(old_condition).collect();
        if !conditions.is_empty() {
            notes.push((CONDITIONS, format!("[{}]", conditions.join(","))));
        }
        old["status"] = status.into();
    }
    if let Some(metadata) = old.get_mut("metadata").and_then(Value::as_object_mut)
        && !notes.is_empty()
    {
        let annotations = metadata
            .entry("annotations")
            .or_insert_with(|| json!({}))
            .as_object_mut();
        if let Some(annotations) = annotations {
            annotations.extend(
                notes
                    .into_iter()
                    .map(|(name, text)| (name.to_owned(), Value::String(text))),
            );
        }
    }
    old
}

fn with_version(object: &Value, api_version: &str) -> Value {
    let mut object = match object {
        Value::Object(_) => object.clone(),
        _ => json!({}),
    };
    object["apiVersion"] = api_version.into();
    object
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn drop_reserved(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    annotations.retain(|name, _| !RESERVED.contains(&name.as_str()));
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

/// The utilization of the cpu that a metric wants (`target`) or observes (`current`).
fn utilization<'a>(metric: &'a Value, side: &str) -> Option<&'a Value> {
    let resource = metric
        .get("resource")
        .filter(|_| metric["type"] == "Resource")?;
    let found = resource
        .get(side)?
        .get("averageUtilization")
        .filter(|value| !value.is_null());
    found.filter(|_| resource["name"] == "cpu")
}

fn cpu_metric(side: &str, percent: Value) -> Value {
    let mut place = json!({"averageUtilization": percent});
    if side == "target" {
        place["type"] = "Utilization".into();
    }
    json!({"type": "Resource", "resource": {"name": "cpu", side: place}})
}

/// A metric of the annotation of version 1 in the form of version 2. `side` is `target` or `current`.
fn metric_from_old(old: &Value, side: &str) -> Value {
    let mut new = Map::new();
    new.insert("type".into(), old["type"].clone());
    for source in SOURCES {
        let Some(from) = old.get(source).filter(|from| from.is_object()) else {
            continue;
        };
        let value = |name: &str| from.get(name).filter(|value| !value.is_null()).cloned();
        let mut to = Map::new();
        let mut insert = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                to.insert(name.to_owned(), value);
            }
        };
        let sided = |name: &str| value(&format!("{side}{name}"));
        let percent = sided("AverageUtilization");
        let (whole, average) = match source {
            "object" => {
                // Version 1 cannot leave out the value.
                let is_zero = |value: &Value| *value == "0";
                let whole = sided("Value")
                    .filter(|value| side == "current" || value_is_used(from) || !is_zero(value));
                (whole, value("averageValue"))
            }
            "external" => (sided("Value"), sided("AverageValue")),
            _ => {
                // Version 1 cannot leave out the value.
                let is_used =
                    |value: &Value| side == "target" || percent.is_none() || *value != "0";
                (None, sided("AverageValue").filter(is_used))
            }
        };
        let mut place = Map::new();
        if side == "target" {
            let kind = match (source, &percent, &whole, &average) {
                (_, Some(_), _, _) => "Utilization",
                ("object", None, _, None) | ("external", None, Some(_), _) => "Value",
                _ => "AverageValue",
            };
            place.insert("type".into(), kind.into());
        }
        for (name, value) in [
            ("value", whole),
            ("averageValue", average),
            ("averageUtilization", percent),
        ] {
            if let Some(value) = value {
                place.insert(name.into(), value);
            }
        }
        match source {
            "resource" | "containerResource" => {
                insert("name", value("name"));
                insert("container", value("container"));
            }
            _ => {
                let selector = value(if source == "external" {
                    "metricSelector"
                } else {
                    "selector"
                });
                let mut metric = json!({"name": value("metricName")});
                if let Some(selector) = selector {
                    metric["selector"] = selector;
                }
                insert("metric", Some(metric));
                if source == "object" {
                    insert("describedObject", value("target"));
                }
            }
        }
        insert(side, Some(place.into()));
        new.insert(source.to_owned(), to.into());
    }
    new.into()
}

/// Whether an object metric of version 1 wants a value and not an average.
fn value_is_used(metric: &Value) -> bool {
    metric.get("averageValue").is_none_or(Value::is_null)
}

/// A JSON object with its fields in this order, which is that of a real server.
fn ordered<'a>(fields: impl IntoIterator<Item = (&'a str, Option<String>)>) -> String {
    let fields: Vec<String> = fields
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name:?}:{}", value?)))
        .collect();
    format!("{{{}}}", fields.join(","))
}

/// A metric of version 2 as the annotation of version 1 holds it.
fn old_metric(metric: &Value, side: &str) -> String {
    let mut fields = vec![("type", Some(metric["type"].to_string()))];
    for source in SOURCES {
        let from = metric.get(source).filter(|from| from.is_object());
        fields.push((source, from.map(|from| old_source(source, from, side))));
    }
    ordered(fields)
}

fn old_source(source: &str, from: &Value, side: &str) -> String {
    let at = |pointer: &str| {
        let found = from.pointer(pointer).filter(|value| !value.is_null());
        found.map(Value::to_string)
    };
    let of = |name: &str| at(&format!("/{side}/{name}"));
    let zero = || Some("\"0\"".to_owned());
    let named = ["Value", "AverageValue", "AverageUtilization"];
    let [value, average, percent] = named.map(|name| format!("{side}{name}"));
    let (value, average, percent) = (value.as_str(), average.as_str(), percent.as_str());
    let name = || at("/metric/name").or_else(|| Some("\"\"".into()));
    match source {
        "resource" | "containerResource" => {
            let amount = of("averageValue");
            let amount = if side == "current" {
                amount.or_else(zero)
            } else {
                amount
            };
            ordered([
                ("name", at("/name")),
                (percent, of("averageUtilization")),
                (average, amount),
                ("container", at("/container")),
            ])
        }
        "pods" => ordered([
            ("metricName", name()),
            (average, of("averageValue").or_else(zero)),
            ("selector", at("/metric/selector")),
        ]),
        "object" => {
            let target = |name: &str| at(&format!("/describedObject/{name}"));
            ordered([
                (
                    "target",
                    Some(ordered([
                        ("kind", target("kind")),
                        ("name", target("name")),
                        ("apiVersion", target("apiVersion")),
                    ])),
                ),
                ("metricName", name()),
                (value, of("value").or_else(zero)),
                ("selector", at("/metric/selector")),
                ("averageValue", of("averageValue")),
            ])
        }
        _ => {
            let amount = of("value");
            let amount = if side == "current" {
                amount.or_else(zero)
            } else {
                amount
            };
            ordered([
                ("metricName", name()),
                ("metricSelector", at("/metric/selector")),
                (value, amount),
                (average, of("averageValue")),
            ])
        }
    }
}

fn old_condition(condition: &Value) -> String {
    let fields = ["type", "status", "lastTransitionTime", "reason", "message"];
    ordered(fields.map(|name| {
        let value = condition.get(name).filter(|value| *value != "");
        let null = (name == "lastTransitionTime").then(|| "null".to_owned());
        (name, value.map(Value::to_string).or(null))
    }))
}

/// The behavior as a real server writes it into the annotation: in the form of its internal type.
fn internal_behavior(behavior: &Value) -> String {
    let text = |value: &Value| value.to_string();
    let rules = |name: &str| {
        let rules = &behavior[name];
        if rules.is_null() {
            return "null".to_owned();
        }
        let policies = rules["policies"].as_array().map(|policies| {
            let policies: Vec<String> = policies
                .iter()
                .map(|policy| {
                    ordered([
                        ("Type", Some(text(&policy["type"]))),
                        ("Value", Some(text(&policy["value"]))),
                        ("PeriodSeconds", Some(text(&policy["periodSeconds"]))),
                    ])
                })
                .collect();
            format!("[{}]", policies.join(","))
        });
        ordered([
            (
                "StabilizationWindowSeconds",
                Some(text(&rules["stabilizationWindowSeconds"])),
            ),
            ("SelectPolicy", Some(text(&rules["selectPolicy"]))),
            (
                "Policies",
                Some(policies.unwrap_or_else(|| "null".to_owned())),
            ),
            ("Tolerance", Some(text(&rules["tolerance"]))),
        ])
    };
    ordered([
        ("ScaleUp", Some(rules("scaleUp"))),
        ("ScaleDown", Some(rules("scaleDown"))),
    ])
}

/// The fields of an internal type under their names in version 2.
fn lowered(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| {
                let mut name = name.clone();
                if let Some(first) = name.get_mut(..1) {
                    first.make_ascii_lowercase();
                }
                (name, lowered(value))
            })
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(lowered).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversion_to_version_1_and_back_keeps_everything() {
        let metric = |kind: &str, source: &str, body: Value| json!({"type": kind, source: body});
        let stored = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "a", "annotations": {"kept": "yes"}},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 3,
                "metrics": [
                    metric("Object", "object", json!({"metric": {"name": "hits"},
                        "describedObject": {"kind": "Ingress", "name": "i"}, "target": {"type": "Value", "value": "2k"}})),
                    metric("Pods", "pods", json!({"metric": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}},
                        "target": {"type": "AverageValue", "averageValue": "10"}})),
                    metric("External", "external", json!({"metric": {"name": "queue"},
                        "target": {"type": "AverageValue", "averageValue": "30"}})),
                    metric("ContainerResource", "containerResource", json!({"name": "cpu", "container": "c",
                        "target": {"type": "Utilization", "averageUtilization": 50}})),
                    metric("Resource", "resource", json!({"name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 60}})),
                ],
                "behavior": {"scaleDown": {"selectPolicy": "Max",
                    "policies": [{"type": "Percent", "value": 10, "periodSeconds": 60}]}},
            },
            "status": {"currentReplicas": 1, "desiredReplicas": 2,
                "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                "currentMetrics": [metric("Resource", "resource", json!({"name": "cpu",
                    "current": {"averageUtilization": 40, "averageValue": "100m"}}))]},
        });
        let old = autoscaler_from_stored(&stored);
        assert_eq!(old["spec"]["targetCPUUtilizationPercentage"], 60);
        assert_eq!(old["status"]["currentCPUUtilizationPercentage"], 40);
        assert!(old["spec"].get("metrics").is_none() && old["spec"].get("behavior").is_none());
        assert_eq!(autoscaler_to_stored(&old), stored);
    }

    #[test]
    fn an_autoscaler_without_metrics_scales_by_the_cpu() {
        let old = json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 3}});
        let stored = autoscaler_to_stored(&old);
        assert_eq!(
            stored["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
            80
        );
    }
}
