use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{at, indexed, list, map, name, quantity_not_negative, text};
use super::part::Part;
use super::pod::container_resource_name;
use crate::go::Quantity;
use crate::go::{canonical_quantity, compare_quantities};
use crate::names;
use crate::schema::FieldError;

/// The core kind LimitRange.
pub(super) fn limit_range(object: &Value, found: &mut Vec<FieldError>) {
    let mut types = BTreeSet::new();
    for (field, limit) in indexed(object, "/spec/limits", "spec.limits") {
        let kind = text(limit, "/type");
        let type_field = format!("{field}.type");
        let before = found.len();
        name(kind, &type_field, names::qualified_name, found);
        let known = ["Container", "PersistentVolumeClaim", "Pod"];
        if before == found.len() && !kind.contains('/') && !known.contains(&kind) {
            let detail = "must be a standard limit type or fully qualified";
            found.push(FieldError::invalid(&type_field, kind, detail));
        }
        if !types.insert(kind) {
            found.push(FieldError::duplicate(type_field, kind.into()));
        }
        for part in [
            "max",
            "min",
            "default",
            "defaultRequest",
            "maxLimitRequestRatio",
        ] {
            let given = map(limit, &format!("/{part}"));
            if kind == "Pod" && part.starts_with("default") {
                if given.count() > 0 {
                    let detail = "may not be specified when `type` is 'Pod'";
                    found.push(FieldError::forbidden(format!("{field}.{part}"), detail));
                }
                continue;
            }
            for (resource, value) in given {
                let value = Part::new(value, format!("{field}.{part}[{resource}]"));
                match kind {
                    "Container" => container_resource_name(resource, &value, found),
                    _ => drop(resource_name(resource, &value.path, found)),
                }
            }
        }
        let storage = |part: &str| at(limit, part).get("storage").is_some();
        if kind == "PersistentVolumeClaim" && !storage("/min") && !storage("/max") {
            let detail =
                "either minimum or maximum storage value is required, but neither was provided";
            found.push(FieldError::required(format!("{field}.limits"), detail));
        }
        compare_limits(limit, kind, &field, found);
        let ratios = Part::new(limit, &field).get("maxLimitRequestRatio");
        for (_, ratio) in ratios.entries() {
            if Quantity::parse(ratio.text()).is_some_and(|number| number < Quantity::whole(1)) {
                let detail = format!("ratio {} is less than 1", ratio.text());
                ratio.invalid(detail, found);
            }
        }
    }
}

/// The limits of each resource must not contradict each other.
fn compare_limits(limit: &Value, kind: &str, field: &str, found: &mut Vec<FieldError>) {
    // Each rule has the smaller part, the larger part, the field with the fault, and the value in the error.
    const RULES: [(&str, &str, &str, &str); 6] = [
        ("min", "max", "min", "min"),
        ("min", "defaultRequest", "defaultRequest", "defaultRequest"),
        ("defaultRequest", "max", "defaultRequest", "defaultRequest"),
        (
            "defaultRequest",
            "default",
            "defaultRequest",
            "defaultRequest",
        ),
        ("min", "default", "default", "min"),
        ("default", "max", "default", "max"),
    ];
    let value = |part: &str, resource: &str| {
        let unused = kind == "Pod" && part.starts_with("default");
        let quantities = at(limit, &format!("/{part}"));
        quantities
            .get(resource)
            .and_then(Value::as_str)
            .filter(|_| !unused)
    };
    let named = |part: &str, other: &str| match (part, other) {
        ("defaultRequest", _) => "default request value",
        ("default", "defaultRequest") => "default limit value",
        ("default", _) => "default value",
        ("min", _) => "min value",
        _ => "max value",
    };
    let parts = ["min", "max", "default", "defaultRequest"];
    let resources: BTreeSet<&String> = parts
        .iter()
        .flat_map(|part| map(limit, &format!("/{part}")).map(|(resource, _)| resource))
        .collect();
    for resource in resources {
        for (small, large, at_fault, shown) in RULES {
            let (Some(less), Some(more)) = (value(small, resource), value(large, resource)) else {
                continue;
            };
            if compare_quantities(less, more).is_some_and(|order| order.is_gt()) {
                let detail = format!(
                    "{} {less} is greater than {} {more}",
                    named(small, large),
                    named(large, small)
                );
                let field = format!("{field}.{at_fault}[{resource}]");
                let value = if shown == small { less } else { more };
                found.push(FieldError::invalid(field, value, detail));
            }
        }
        let ratio = at(limit, "/maxLimitRequestRatio").get(resource.as_str());
        let ratio = ratio.and_then(Value::as_str);
        if let Some(ratio) = ratio
            && compare_quantities(ratio, "1").is_some_and(|order| order.is_lt())
        {
            let field = format!("{field}.maxLimitRequestRatio[{resource}]");
            let detail = format!("ratio {ratio} is less than 1");
            found.push(FieldError::invalid(field, ratio, detail));
        }
    }
}

/// Resources without a domain that a quota can count, all of which must be whole numbers.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
/// Resources without a domain that a quota can measure.
const MEASURED: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

fn is_in_quota(resource: &str) -> bool {
    COUNTED.contains(&resource)
        || MEASURED.contains(&resource)
        || resource.starts_with("hugepages-")
        || resource.starts_with("requests.hugepages-")
}

/// Whether a resource is counted in whole numbers: an object, or a device.
pub(super) fn is_integer_resource(resource: &str) -> bool {
    let native = !resource.contains('/') || resource.contains("kubernetes.io/");
    let is_device = !native
        && !resource.starts_with("requests.")
        && names::qualified_name(&format!("requests.{resource}")).is_empty();
    is_device || COUNTED.contains(&resource)
}

/// Refuses a name that is not the name of a resource. Returns whether it is one.
pub(super) fn resource_name(resource: &str, field: &str, found: &mut Vec<FieldError>) -> bool {
    let before = found.len();
    name(resource, field, names::qualified_name, found);
    let is_standard = is_in_quota(resource) || resource == "storage";
    if before == found.len() && !resource.contains('/') && !is_standard {
        let detail = "must be a standard resource type or fully qualified";
        found.push(FieldError::invalid(field, resource, detail));
    }
    before == found.len()
}

/// The core kind ResourceQuota.
pub(super) fn quota(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    let spec = at(object, "/spec");
    for (resource, quantity) in map(spec, "/hard") {
        let field = format!("spec.hard[{resource}]");
        resource_name(resource, &field, found);
        if !resource.contains('/') && !is_in_quota(resource) {
            let detail = "must be a standard resource for quota";
            found.push(FieldError::invalid(&field, resource.as_str(), detail));
        }
        quantity_not_negative(quantity, &field, found);
        let canonical = quantity.as_str().and_then(canonical_quantity);
        let is_whole = canonical.is_none_or(|text| !text.ends_with(['m', 'u', 'n']));
        if COUNTED.contains(&resource.as_str()) && !is_whole {
            let detail = "must be an integer";
            found.push(FieldError::invalid(field, quantity.clone(), detail));
        }
    }
    scopes(spec, found);
    scope_selector(spec, found);
    if let Some(old) = old {
        let set = |object: &Value| -> BTreeSet<String> {
            list(object, "/spec/scopes")
                .iter()
                .filter_map(|scope| scope.as_str().map(String::from))
                .collect()
        };
        if set(object) != set(old) {
            let value = at(spec, "/scopes").clone();
            let detail = "field is immutable";
            found.push(FieldError::invalid("spec.scopes", value, detail));
        }
    }
}

const SCOPES: [&str; 7] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

/// Whether a quota of this scope can limit the resource.
fn scope_fits(scope: &str, resource: &str) -> bool {
    let counts_pods = resource == "pods";
    let of_pods = MEASURED.contains(&resource) && resource != "requests.storage"
        || resource.contains("hugepages-");
    match scope {
        "BestEffort" => counts_pods,
        "VolumeAttributesClass" => {
            matches!(resource, "persistentvolumeclaims" | "requests.storage")
        }
        scope if SCOPES.contains(&scope) => counts_pods || of_pods,
        _ => true,
    }
}

const CONFLICTS: [[&str; 2]; 2] = [
    ["BestEffort", "NotBestEffort"],
    ["Terminating", "NotTerminating"],
];

fn scopes(spec: &Value, found: &mut Vec<FieldError>) {
    let scopes = list(spec, "/scopes");
    let mut invalid = |detail: &str| found.push(FieldError::invalid("spec.scopes", scopes, detail));
    for scope in scopes.iter().filter_map(Value::as_str) {
        if !SCOPES.contains(&scope) {
            invalid("unsupported scope");
        }
        for (resource, _) in map(spec, "/hard") {
            if is_in_quota(resource) && !scope_fits(scope, resource) {
                invalid("unsupported scope applied to resource");
            }
        }
    }
    for pair in CONFLICTS {
        if pair
            .iter()
            .all(|scope| scopes.iter().any(|given| given == scope))
        {
            invalid("conflicting scopes");
        }
    }
}

fn scope_selector(spec: &Value, found: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.scopeSelector.matchExpressions";
    const ONLY_EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, \
                               ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                               ResourceQuotaScopeCrossNamespacePodAffinity";
    for expression in list(spec, "/scopeSelector/matchExpressions") {
        let scope = text(expression, "/scopeName");
        if !SCOPES.contains(&scope) {
            let field = format!("{FIELD}.scopeName");
            found.push(FieldError::invalid(field, scope, "unsupported scope"));
        }
        let (operator, values) = (text(expression, "/operator"), list(expression, "/values"));
        let selects = ["PriorityClass", "VolumeAttributesClass"].contains(&scope);
        if SCOPES.contains(&scope) && !selects && operator != "Exists" {
            let field = format!("{FIELD}.operator");
            found.push(FieldError::invalid(field, operator, ONLY_EXISTS));
        }
        match operator {
            "In" | "NotIn" if values.is_empty() => found.push(FieldError::required(
                format!("{FIELD}.values"),
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            "Exists" | "DoesNotExist" if !values.is_empty() => found.push(FieldError::invalid(
                format!("{FIELD}.values"),
                values,
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => found.push(FieldError::invalid(
                format!("{FIELD}.operator"),
                operator,
                "not a valid selector operator",
            )),
        }
    }
}
