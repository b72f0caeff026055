use serde_json::Value;

use crate::error::Cause;
use crate::names;
use crate::store::selector::{FieldSelector, LabelSelector};

const FIELDS: &str = "fieldSelector";
const LABELS: &str = "labelSelector";

/// The errors in the selectors of the resource that an access review asks about.
pub(super) fn selector_errors(resource: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for kind in [FIELDS, LABELS] {
        let Some(selector) = resource.get(kind).filter(|given| !given.is_null()) else {
            continue;
        };
        let path = format!("spec.resourceAttributes.{kind}");
        let (raw, requirements) = parts(selector);
        if !raw.is_empty() && !requirements.is_empty() {
            causes.push(Cause::invalid(
                format!("{path}.rawSelector"),
                &raw.into(),
                "may not specified at the same time as requirements",
            ));
        }
        if raw.is_empty() && requirements.is_empty() {
            let detail =
                format!("when {path} is specified, requirements or rawSelector is required");
            causes.push(Cause::required(format!("{path}.requirements"), &detail));
        }
        for (index, requirement) in requirements.iter().enumerate() {
            let path = format!("{path}.requirements[{index}]");
            requirement_errors(kind, requirement, &path, &mut causes);
        }
    }
    causes
}

/// The raw form and the requirements of a selector.
fn parts(selector: &Value) -> (&str, &[Value]) {
    let requirements = selector.get("requirements").and_then(Value::as_array);
    (
        text(selector, "rawSelector"),
        requirements.map_or(&[], Vec::as_slice),
    )
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn values(requirement: &Value) -> &[Value] {
    let values = requirement.get("values").and_then(Value::as_array);
    values.map_or(&[], Vec::as_slice)
}

fn requirement_errors(kind: &str, requirement: &Value, path: &str, causes: &mut Vec<Cause>) {
    let key = text(requirement, "key");
    if kind == FIELDS && key.is_empty() {
        causes.push(Cause::required(format!("{path}.key"), "must be specified"));
    }
    match (text(requirement, "operator"), values(requirement)) {
        ("In" | "NotIn", []) => causes.push(Cause::required(
            format!("{path}.values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        ("Exists" | "DoesNotExist", [_, ..]) => causes.push(Cause::forbidden(
            format!("{path}.values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        // A newer client may know more operators.
        _ => {}
    }
    if kind == LABELS {
        for wrong in names::qualified_name(key) {
            causes.push(Cause::invalid(format!("{path}.key"), &key.into(), &wrong));
        }
        for (index, value) in values(requirement).iter().enumerate() {
            for wrong in names::label_value(value.as_str().unwrap_or_default()) {
                causes.push(Cause::invalid(
                    format!("{path}.values[{index}]"),
                    value,
                    &wrong,
                ));
            }
        }
    }
}

/// What a review says about selectors that cannot be used. Roles do not depend on selectors, so they do not change the
/// decision.
pub(super) fn evaluation_error(resource: &Value) -> String {
    let mut errors = Vec::new();
    for kind in [FIELDS, LABELS] {
        let Some(selector) = resource.get(kind).filter(|given| !given.is_null()) else {
            continue;
        };
        let (raw, requirements) = parts(selector);
        let (used, ignored) = match requirements {
            [] if raw.is_empty() => continue,
            [] => match parses(kind, raw) {
                true => (1, 0),
                false => (0, 1),
            },
            requirements => {
                let usable = |requirement: &&Value| is_usable(kind, requirement);
                let used = requirements.iter().filter(usable).count();
                (used, requirements.len() - used)
            }
        };
        let how = match (used, ignored) {
            (_, 0) => continue,
            (0, _) => "",
            _ => "partially ",
        };
        errors.push(format!(
            "spec.resourceAttributes.{kind} {how}ignored due to parse error"
        ));
    }
    errors.join("; ")
}

fn parses(kind: &str, raw: &str) -> bool {
    match kind {
        LABELS => LabelSelector::parse(raw).is_ok(),
        // Any field is accepted here, as in a custom resource.
        _ => FieldSelector::is_well_formed(raw),
    }
}

fn is_usable(kind: &str, requirement: &Value) -> bool {
    match (kind, text(requirement, "operator")) {
        (FIELDS, "In" | "NotIn") => values(requirement).len() == 1,
        (FIELDS, _) => false,
        (_, operator) => ["In", "NotIn", "Exists", "DoesNotExist"].contains(&operator),
    }
}
