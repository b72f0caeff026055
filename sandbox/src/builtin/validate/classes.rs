use serde_json::Value;

use super::fields::{
    at, fixed, immutable, map, quantity_not_negative, required_name, supported, text,
};
use super::part::Part;
use super::pod::{container_resource_name, tolerations};
use super::selector::labels_are_valid;
use crate::names;
use crate::schema::FieldError;

/// A RuntimeClass.
pub(super) fn runtime_class(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    // A real server checks only a new class.
    if let Some(old) = old {
        return fixed(object, old, "/handler", found);
    }
    required_name(text(object, "/handler"), "handler", names::dns_label, found);
    for (resource, quantity) in map(object, "/overhead/podFixed") {
        let quantity = Part::new(quantity, format!("overhead.limits[{resource}]"));
        container_resource_name(resource, &quantity, found);
        quantity_not_negative(quantity.value, &quantity.path, found);
    }
    let labels = at(object, "/scheduling/nodeSelector").as_object();
    let field = "scheduling.nodeSelector";
    labels_are_valid(labels, field, found);
    tolerations(&Part::new(object, "").get("scheduling"), found);
}

/// The largest priority of a class that is not the system's.
const HIGHEST_PRIORITY: i64 = 1_000_000_000;

/// A PriorityClass.
pub(super) fn priority_class(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    if let Some(old) = old {
        if object.get("value") != old.get("value") {
            found.push(FieldError::forbidden(
                "value",
                "may not be changed in an update.",
            ));
        }
        return immutable(object, old, "/preemptionPolicy", found);
    }
    const SYSTEM: [(&str, i64); 2] = [
        ("system-node-critical", 2 * HIGHEST_PRIORITY + 1000),
        ("system-cluster-critical", 2 * HIGHEST_PRIORITY),
    ];
    let label = text(object, "/metadata/name");
    let value = object["value"].as_i64().unwrap_or_default();
    if label.starts_with("system-") {
        let known = SYSTEM.iter().find(|(known, _)| *known == label);
        let wrong = match known {
            None => Some(format!("{label} is not a known system priority class")),
            Some((_, wanted)) if *wanted != value => {
                Some(format!("value of {label} PriorityClass must be {wanted}"))
            }
            Some(_) if object.get("globalDefault") == Some(&Value::Bool(true)) => Some(format!(
                "globalDefault of {label} PriorityClass must be false"
            )),
            Some(_) => None,
        };
        if let Some(wrong) = wrong {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {wrong}"
            );
            found.push(FieldError::forbidden("metadata.name", detail));
        }
    } else if value > HIGHEST_PRIORITY {
        let detail =
            format!("maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}");
        found.push(FieldError::forbidden("value", detail));
    }
    let policy = text(object, "/preemptionPolicy");
    let known = ["PreemptLowerPriority", "Never"];
    supported(policy, "preemptionPolicy", &known, found);
}
