//! The bounds of an original schema that a made one lacks.

use serde_json::Value;

/// What an API server checks of a single value.
const BOUNDS: &[&str] = &[
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "enum",
    "nullable",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];

/// The places and names of the bounds that differ.
pub(crate) fn different(original: &Value, made: &Value, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    // A value of any type, and the types of Kubernetes, have their own schemas.
    let is_any = made["type"].is_null() && made["x-kubernetes-int-or-string"].is_null();
    if is_any || is_of_kubernetes(original) {
        return found;
    }
    for bound in BOUNDS {
        if !is_same(bound, original, made) {
            found.push(format!(
                "{path}: {bound}: {} became {}",
                original[bound], made[bound]
            ));
        }
    }
    let fields = original["properties"].as_object().into_iter().flatten();
    for (name, field) in fields {
        found.extend(different(
            field,
            &made["properties"][name],
            &format!("{path}.{name}"),
        ));
    }
    for (key, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        if original[key].is_object() {
            found.extend(different(
                &original[key],
                &made[key],
                &format!("{path}{suffix}"),
            ));
        }
    }
    found
}

fn is_same(bound: &str, original: &Value, made: &Value) -> bool {
    let (one, other) = (&original[bound], &made[bound]);
    let is_enum = original["enum"].is_array();
    match bound {
        // Each value of an enum has a length.
        "minLength" | "maxLength" | "pattern" if is_enum => true,
        "enum" => texts(one) == texts(other),
        "x-kubernetes-validations" => rules(one) == rules(other),
        "nullable" if is_enum => true,
        // Without it, fields belong to field managers one by one.
        "x-kubernetes-map-type" if one == "granular" => other.is_null(),
        _ => {
            one == other
                || one.as_f64().is_some_and(|one| other.as_f64() == Some(one))
                || (*one == false && other.is_null())
        }
    }
}

/// The values of an enum in an order of their own, without null, which `nullable` says.
fn texts(values: &Value) -> Vec<String> {
    let values = values.as_array().into_iter().flatten();
    let mut texts: Vec<String> = values
        .filter(|one| !one.is_null())
        .map(ToString::to_string)
        .collect();
    texts.sort_unstable();
    texts.dedup();
    texts
}

fn rules(rules: &Value) -> Vec<&str> {
    let rules = rules.as_array().into_iter().flatten();
    let mut rules: Vec<&str> = rules
        .filter_map(|one| one["rule"].as_str())
        .map(str::trim)
        .collect();
    rules.sort_unstable();
    rules
}

/// Whether it is a list of conditions, a condition, or a label selector.
fn is_of_kubernetes(schema: &Value) -> bool {
    let has = |schema: &Value, names: &[&str]| {
        let fields = schema["properties"].as_object();
        fields.is_some_and(|fields| {
            names.iter().all(|name| fields.contains_key(*name)) && fields.len() == names.len()
        })
    };
    let condition = [
        "type",
        "status",
        "reason",
        "message",
        "lastTransitionTime",
        "observedGeneration",
    ];
    has(schema, &condition)
        || has(&schema["items"], &condition)
        || has(schema, &["matchLabels", "matchExpressions"])
}
