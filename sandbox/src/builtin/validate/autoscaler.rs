use serde_json::Value;

use super::fields::{at, indexed, list, quantity_not_negative, required_name, supported, text};
use crate::go::compare_quantities;
use crate::names;
use crate::schema::FieldError;

/// The types of metrics with the fields of their sources, in the order in which a real server checks them.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

/// A HorizontalPodAutoscaler in version 2.
pub(super) fn autoscaler(object: &Value, found: &mut Vec<FieldError>) {
    let spec = at(object, "/spec");
    let minimum = at(spec, "/minReplicas").as_i64();
    let maximum = at(spec, "/maxReplicas").as_i64().unwrap_or_default();
    if let Some(minimum) = minimum.filter(|minimum| *minimum < 0) {
        let detail = "must be greater than or equal to 0";
        found.push(FieldError::invalid("spec.minReplicas", minimum, detail));
    }
    let field = "spec.maxReplicas";
    if maximum == 0 {
        found.push(FieldError::required(field, ""));
    } else if maximum < 0 {
        let detail = "must be greater than or equal to 1";
        found.push(FieldError::invalid(field, maximum, detail));
    }
    if minimum.is_some_and(|minimum| maximum < minimum) {
        let detail = "must be greater than or equal to `minReplicas`";
        found.push(FieldError::invalid(field, maximum, detail));
    }
    let target = at(spec, "/scaleTargetRef");
    reference(target, "spec.scaleTargetRef", true, found);
    for (field, metric) in indexed(spec, "/metrics", "spec.metrics") {
        self::metric(metric, &field, found);
    }
    let scales_to_zero = |metric: &Value| matches!(text(metric, "/type"), "Object" | "External");
    if minimum == Some(0) && !list(spec, "/metrics").iter().any(scales_to_zero) {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        found.push(FieldError::forbidden("spec.metrics", detail));
    }
    for direction in ["scaleUp", "scaleDown"] {
        let rules = at(spec, &format!("/behavior/{direction}"));
        if !rules.is_null() {
            scaling(rules, &format!("spec.behavior.{direction}"), found);
        }
    }
}

fn reference(target: &Value, field: &str, of_scale: bool, found: &mut Vec<FieldError>) {
    for part in ["kind", "name"] {
        let value = text(target, &format!("/{part}"));
        let field = format!("{field}.{part}");
        required_name(value, &field, names::path_segment, found);
    }
    let (kind, version) = (text(target, "/kind"), text(target, "/apiVersion"));
    let core = kind == "ReplicationController";
    if of_scale && version.is_empty() && !core {
        let detail = "apiVersion must specify API group";
        found.push(FieldError::invalid(
            format!("{field}.apiVersion"),
            "",
            detail,
        ));
    }
}

fn metric(metric: &Value, field: &str, found: &mut Vec<FieldError>) {
    const KNOWN: [&str; 5] = [
        "ContainerResource",
        "External",
        "Object",
        "Pods",
        "Resource",
    ];
    let kind = text(metric, "/type");
    let type_field = format!("{field}.type");
    if kind.is_empty() {
        let detail = "must specify a metric source type";
        found.push(FieldError::required(&type_field, detail));
    }
    supported(kind, &type_field, &KNOWN, found);
    let is_set = |source: &str| !at(metric, &format!("/{source}")).is_null();
    let present: Vec<&str> = SOURCES
        .iter()
        .map(|(_, source)| *source)
        .filter(|source| is_set(source))
        .collect();
    if let Some(first) = present.first() {
        let body = at(metric, &format!("/{first}"));
        source(first, body, &format!("{field}.{first}"), found);
    }
    let wanted = SOURCES.iter().find(|(known, _)| *known == kind);
    match wanted {
        None => supported(kind, &type_field, &KNOWN, found),
        Some((_, source)) if !is_set(source) => {
            let detail = "must populate information for the given metric source";
            found.push(FieldError::required(format!("{field}.{source}"), detail));
        }
        Some(_) => {}
    }
    if present.len() != 1 {
        let wanted = wanted.map(|(_, source)| *source);
        for other in present.iter().filter(|source| Some(**source) != wanted) {
            let detail = "must populate the given metric source only";
            found.push(FieldError::forbidden(format!("{field}.{other}"), detail));
        }
    }
}

fn source(kind: &str, body: &Value, field: &str, found: &mut Vec<FieldError>) {
    let target = at(body, "/target");
    let has = |part: &str| !at(target, &format!("/{part}")).is_null();
    let in_target = |part: &str| format!("{field}.target.{part}");
    match kind {
        "resource" | "containerResource" => {
            for part in ["name", "container"] {
                let needed = part == "name" || kind == "containerResource";
                if needed && text(body, &format!("/{part}")).is_empty() {
                    let what = if part == "name" {
                        "resource name"
                    } else {
                        part
                    };
                    let detail = format!("must specify a {what}");
                    found.push(FieldError::required(format!("{field}.{part}"), detail));
                }
            }
            metric_target(target, field, found);
            match (has("averageUtilization"), has("averageValue")) {
                (false, false) => found.push(FieldError::required(
                    in_target("averageUtilization"),
                    "must set either a target raw value or a target utilization",
                )),
                (true, true) => found.push(FieldError::forbidden(
                    in_target("averageValue"),
                    "may not set both a target raw value and a target utilization",
                )),
                _ => {}
            }
        }
        _ => {
            if kind == "object" {
                let described = at(body, "/describedObject");
                reference(described, &format!("{field}.describedObject"), false, found);
            }
            let label = text(body, "/metric/name");
            let name_field = format!("{field}.metric.name");
            if label.is_empty() {
                let detail = "must specify a metric name";
                found.push(FieldError::required(name_field, detail));
            } else {
                required_name(label, &name_field, names::path_segment, found);
            }
            metric_target(target, field, found);
            let missing = match (kind, has("value"), has("averageValue")) {
                ("pods", _, false) => "must specify a positive target averageValue",
                ("object", false, false) => "must set either a target value or averageValue",
                ("external", false, false) => {
                    "must set either a target value for metric or a per-pod target"
                }
                ("external", true, true) => {
                    let detail = "may not set both a target value for metric and a per-pod target";
                    return found.push(FieldError::forbidden(in_target("value"), detail));
                }
                _ => return,
            };
            found.push(FieldError::required(in_target("averageValue"), missing));
        }
    }
}

fn metric_target(target: &Value, field: &str, found: &mut Vec<FieldError>) {
    let field = format!("{field}.target");
    let kind = text(target, "/type");
    if kind.is_empty() {
        let detail = "must specify a metric target type";
        found.push(FieldError::required(format!("{field}.type"), detail));
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        let detail = "must be either Utilization, Value, or AverageValue";
        found.push(FieldError::invalid(format!("{field}.type"), kind, detail));
    }
    for part in ["value", "averageValue"] {
        let value = at(target, &format!("/{part}"));
        let order = value
            .as_str()
            .and_then(|text| compare_quantities(text, "0"));
        if order.is_some_and(|order| !order.is_gt()) {
            let field = format!("{field}.{part}");
            found.push(FieldError::invalid(
                field,
                value.clone(),
                "must be positive",
            ));
        }
    }
    let percent = at(target, "/averageUtilization");
    if percent.as_i64().is_some_and(|percent| percent < 1) {
        let field = format!("{field}.averageUtilization");
        found.push(FieldError::invalid(
            field,
            percent.clone(),
            "must be greater than 0",
        ));
    }
}

/// The longest window in which an autoscaler looks back, in seconds.
const LONGEST_WINDOW: i64 = 3600;
/// The longest period of a policy, in seconds.
const LONGEST_PERIOD: i64 = 1800;

fn scaling(rules: &Value, field: &str, found: &mut Vec<FieldError>) {
    let window = at(rules, "/stabilizationWindowSeconds");
    let detail = match window.as_i64() {
        Some(..0) => Some("must be greater than or equal to zero".to_owned()),
        Some(seconds) if seconds > LONGEST_WINDOW => {
            Some(format!("must be less than or equal to {LONGEST_WINDOW}"))
        }
        _ => None,
    };
    if let Some(detail) = detail {
        let field = format!("{field}.stabilizationWindowSeconds");
        found.push(FieldError::invalid(field, window.clone(), detail));
    }
    let select = text(rules, "/selectPolicy");
    let field_select = format!("{field}.selectPolicy");
    supported(select, &field_select, &["Disabled", "Max", "Min"], found);
    let path = format!("{field}.policies");
    if list(rules, "/policies").is_empty() {
        let detail = "must specify at least one Policy";
        found.push(FieldError::required(&path, detail));
    }
    for (field, policy) in indexed(rules, "/policies", &path) {
        let kind = text(policy, "/type");
        supported(kind, &format!("{field}.type"), &["Percent", "Pods"], found);
        for part in ["value", "periodSeconds"] {
            let number = policy[part].as_i64().unwrap_or_default();
            let field = format!("{field}.{part}");
            if number <= 0 {
                let detail = "must be greater than zero";
                found.push(FieldError::invalid(field, number, detail));
            } else if part == "periodSeconds" && number > LONGEST_PERIOD {
                let detail = format!("must be less than or equal to {LONGEST_PERIOD}");
                found.push(FieldError::invalid(field, number, detail));
            }
        }
    }
    quantity_not_negative(
        at(rules, "/tolerance"),
        &format!("{field}.tolerance"),
        found,
    );
}
