use std::collections::BTreeSet;

use serde_json::Value;

use super::fields::{
    at, choice, indexed, list, map, name, quantity_not_negative, required, required_name,
    supported, text,
};
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
            for (resource, _) in given {
                resource_name(resource, &format!("{field}.{part}[{resource}]"), found);
            }
        }
        let storage = |part: &str| at(limit, part).get("storage").is_some();
        if kind == "PersistentVolumeClaim" && !storage("/min") && !storage("/max") {
            let detail =
                "either minimum or maximum storage value is required, but neither was provided";
            found.push(FieldError::required(format!("{field}.limits"), detail));
        }
        compare_limits(limit, kind, &field, found);
    }
}

/// The limits of each resource must not contradict each other.
fn compare_limits(limit: &Value, kind: &str, field: &str, found: &mut Vec<FieldError>) {
    // Of each rule: the smaller part, the larger part, the part that is at fault, the value that the error shows.
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

/// Refuses a name that is not the name of a resource. Returns whether it is one.
fn resource_name(resource: &str, field: &str, found: &mut Vec<FieldError>) -> bool {
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

/// A FlowSchema.
pub(super) fn flow_schema(object: &Value, found: &mut Vec<FieldError>) {
    const HIGHEST: i64 = 10_000;
    let spec = at(object, "/spec");
    let precedence = at(spec, "/matchingPrecedence");
    let detail = match precedence.as_i64().unwrap_or_default() {
        ..=0 => Some("must be a positive value".to_owned()),
        number if number > HIGHEST => Some(format!("must not be greater than {HIGHEST}")),
        _ => None,
    };
    if let Some(detail) = detail {
        let field = "spec.matchingPrecedence";
        found.push(FieldError::invalid(field, precedence.clone(), detail));
    }
    let method = at(spec, "/distinguisherMethod");
    let kind = text(method, "/type");
    if !method.is_null() && !["ByNamespace", "ByUser"].contains(&kind) {
        // A real server shows its own type.
        let shown = serde_json::json!({"Type": kind});
        let known = ["ByNamespace", "ByUser"];
        let field = "spec.distinguisherMethod.type";
        found.push(FieldError::not_supported(field, shown, known));
    }
    let level = text(spec, "/priorityLevelConfiguration/name");
    let field = "spec.priorityLevelConfiguration.name";
    if level.is_empty() {
        let detail = "must reference a priority level";
        found.push(FieldError::required(field, detail));
    } else {
        name(level, field, names::dns_subdomain, found);
    }
    for (field, rule) in indexed(spec, "/rules", "spec.rules") {
        flow_rule(rule, &field, found);
    }
}

fn flow_rule(rule: &Value, field: &str, found: &mut Vec<FieldError>) {
    let path = format!("{field}.subjects");
    if list(rule, "/subjects").is_empty() {
        let detail = "subjects must contain at least one value";
        found.push(FieldError::required(&path, detail));
    }
    for (field, subject) in indexed(rule, "/subjects", &path) {
        flow_subject(subject, &field, found);
    }
    let (resources, paths) = ("resourceRules", "nonResourceRules");
    let none = |part: &str| list(rule, &format!("/{part}")).is_empty();
    if none(resources) && none(paths) {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        found.push(FieldError::required(field, detail));
    }
    for (field, rule) in indexed(rule, "/resourceRules", &format!("{field}.{resources}")) {
        values(
            rule,
            "verbs",
            "verbs must contain at least one value",
            "verbs",
            &field,
            found,
        );
        let groups = "resource rules must supply at least one api group";
        values(rule, "apiGroups", groups, "api groups", &field, found);
        let detail = "resource rules must supply at least one resource";
        values(rule, "resources", detail, "resources", &field, found);
        if at(rule, "/clusterScope") != true || !list(rule, "/namespaces").is_empty() {
            let detail =
                "resource rules that are not cluster scoped must supply at least one namespace";
            values(rule, "namespaces", detail, "namespaces", &field, found);
        }
    }
    for (field, rule) in indexed(rule, "/nonResourceRules", &format!("{field}.{paths}")) {
        values(
            rule,
            "verbs",
            "verbs must contain at least one value",
            "verbs",
            &field,
            found,
        );
        let detail = "nonResourceURLs must contain at least one value";
        values(
            rule,
            "nonResourceURLs",
            detail,
            "non-resource URLs",
            &field,
            found,
        );
        let path = format!("{field}.nonResourceURLs");
        for (field, url) in indexed(rule, "/nonResourceURLs", &path) {
            url_path(url.as_str().unwrap_or_default(), &field, found);
        }
    }
}

/// A list must have values, and `*` must stand alone.
fn values(
    rule: &Value,
    part: &str,
    missing: &str,
    others: &str,
    field: &str,
    found: &mut Vec<FieldError>,
) {
    let items = list(rule, &format!("/{part}"));
    let field = format!("{field}.{part}");
    if items.is_empty() {
        found.push(FieldError::required(field, missing));
    } else if items.len() > 1 && items.iter().any(|item| item == "*") {
        let detail = format!("if '*' is present, must not specify other {others}");
        found.push(FieldError::invalid(field, items, detail));
    }
}

fn url_path(path: &str, field: &str, found: &mut Vec<FieldError>) {
    let mut invalid = |detail: &str| found.push(FieldError::invalid(field, path, detail));
    if path.is_empty() {
        return invalid("must not be empty");
    }
    if matches!(path, "/" | "*") {
        return;
    }
    if !path.starts_with('/') {
        return invalid("must start with slash");
    }
    if path.contains(' ') {
        return invalid("must not contain white-space");
    }
    if path.contains("//") {
        return invalid("must not contain double slash");
    }
    let star = path.find('*');
    if star.is_some_and(|star| star + 1 != path.len() || !path.ends_with("/*")) {
        invalid("wildcard can only do suffix matching");
    }
}

fn flow_subject(subject: &Value, field: &str, found: &mut Vec<FieldError>) {
    let kind = text(subject, "/kind");
    let part = match kind {
        "User" => "user",
        "Group" => "group",
        "ServiceAccount" => "serviceAccount",
        _ => {
            let known = ["Group", "ServiceAccount", "User"];
            return supported(kind, &format!("{field}.kind"), &known, found);
        }
    };
    let body = at(subject, &format!("/{part}"));
    let field = format!("{field}.{part}");
    if body.is_null() {
        let detail = format!("{part} is required when subject kind is '{kind}'");
        return found.push(FieldError::required(field, detail));
    }
    let label = text(body, "/name");
    required(label, &format!("{field}.name"), found);
    if kind == "ServiceAccount" {
        if !["", "*"].contains(&label) {
            name(label, &format!("{field}.name"), names::dns_subdomain, found);
        }
        let namespace = text(body, "/namespace");
        let field = format!("{field}.namespace");
        if namespace.is_empty() {
            let detail = "must specify namespace for service account";
            found.push(FieldError::required(field, detail));
        } else {
            name(namespace, &field, names::dns_label, found);
        }
    }
}

/// A PriorityLevelConfiguration.
pub(super) fn priority_level(object: &Value, found: &mut Vec<FieldError>) {
    let spec = at(object, "/spec");
    let kind = text(spec, "/type");
    let is_exempt = text(object, "/metadata/name") == "exempt";
    if is_exempt != (kind == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        found.push(FieldError::invalid("spec.type", kind, detail));
    }
    let (limited, exempt) = (at(spec, "/limited"), at(spec, "/exempt"));
    match kind {
        "Exempt" if !limited.is_null() => found.push(FieldError::forbidden(
            "spec.limited",
            "must be nil if the type is not Limited",
        )),
        "Exempt" => shares(exempt, "spec.exempt", found),
        "Limited" => {
            if !exempt.is_null() {
                let detail = "must be nil if the type is Limited";
                found.push(FieldError::forbidden("spec.exempt", detail));
            }
            if limited.is_null() {
                let detail = "must not be empty when type is Limited";
                return found.push(FieldError::required("spec.limited", detail));
            }
            limit_response(at(limited, "/limitResponse"), found);
            shares(limited, "spec.limited", found);
            let most = at(limited, "/borrowingLimitPercent");
            if most.as_i64().is_some_and(|percent| percent < 0) {
                let field = "spec.limited.borrowingLimitPercent";
                let detail = "if specified, must be a non-negative integer";
                found.push(FieldError::invalid(field, most.clone(), detail));
            }
        }
        kind => choice(kind, "spec.type", &["Exempt", "Limited"], found),
    }
}

fn shares(fields: &Value, field: &str, found: &mut Vec<FieldError>) {
    let shares = at(fields, "/nominalConcurrencyShares");
    if shares.as_i64().is_some_and(|shares| shares < 0) {
        let field = format!("{field}.nominalConcurrencyShares");
        let detail = "must be a non-negative integer";
        found.push(FieldError::invalid(field, shares.clone(), detail));
    }
    let percent = at(fields, "/lendablePercent");
    if percent
        .as_i64()
        .is_some_and(|percent| !(0..=100).contains(&percent))
    {
        let field = format!("{field}.lendablePercent");
        let detail = "must be between 0 and 100, inclusive";
        found.push(FieldError::invalid(field, percent.clone(), detail));
    }
}

fn limit_response(response: &Value, found: &mut Vec<FieldError>) {
    const FIELD: &str = "spec.limited.limitResponse";
    const MOST_QUEUES: i64 = 10_000_000;
    let queuing = at(response, "/queuing");
    let field = format!("{FIELD}.queuing");
    match (text(response, "/type"), queuing.is_null()) {
        ("Reject", false) => found.push(FieldError::forbidden(
            field,
            "must be nil if limited.limitResponse.type is not Limited",
        )),
        ("Queue", true) => found.push(FieldError::required(
            field,
            "must not be empty if limited.limitResponse.type is Limited",
        )),
        ("Queue", false) => {
            let number = |part: &str| queuing[part].as_i64().unwrap_or_default();
            let mut invalid = |part: &str, detail: String| {
                let field = format!("{field}.{part}");
                found.push(FieldError::invalid(field, number(part), detail));
            };
            for part in ["queueLengthLimit", "queues", "handSize"] {
                if number(part) <= 0 {
                    invalid(part, "must be positive".into());
                }
            }
            let (queues, hand) = (number("queues"), number("handSize"));
            if queues > MOST_QUEUES {
                invalid("queues", format!("must not be greater than {MOST_QUEUES}"));
            }
            if queues > 0 && hand > queues {
                invalid(
                    "handSize",
                    format!("should not be greater than queues ({queues})"),
                );
            }
        }
        ("Reject", true) => {}
        (kind, _) => choice(kind, &format!("{FIELD}.type"), &["Queue", "Reject"], found),
    }
}

/// A RuntimeClass.
pub(super) fn runtime_class(object: &Value, old: Option<&Value>, found: &mut Vec<FieldError>) {
    // A real server checks only a new class.
    if let Some(old) = old {
        return super::fields::immutable(object, old, "/handler", found);
    }
    required_name(text(object, "/handler"), "handler", names::dns_label, found);
    for (resource, quantity) in map(object, "/overhead/podFixed") {
        let field = format!("overhead.limits[{resource}]");
        if resource_name(resource, &field, found) {
            quantity_not_negative(quantity, &field, found);
        }
    }
    let labels = at(object, "/scheduling/nodeSelector").as_object();
    let field = "scheduling.nodeSelector";
    super::workload::labels_are_valid(labels, field, found);
    let path = "scheduling.tolerations";
    for (field, toleration) in indexed(object, "/scheduling/tolerations", path) {
        tolerates(toleration, &field, found);
    }
}

fn tolerates(toleration: &Value, field: &str, found: &mut Vec<FieldError>) {
    let of = |part: &str| text(toleration, part);
    let (key, operator, value, effect) = (of("/key"), of("/operator"), of("/value"), of("/effect"));
    if !key.is_empty() {
        name(key, &format!("{field}.key"), names::qualified_name, found);
    } else if operator != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        let field = format!("{field}.operator");
        found.push(FieldError::invalid(field, operator, detail));
    }
    if !at(toleration, "/tolerationSeconds").is_null() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        found.push(FieldError::invalid(
            format!("{field}.effect"),
            effect,
            detail,
        ));
    }
    let operator_field = format!("{field}.operator");
    match operator {
        "" | "Equal" => name(value, &operator_field, names::label_value, found),
        "Exists" if !value.is_empty() => found.push(FieldError::invalid(
            operator_field,
            toleration.clone(),
            "value must be empty when `operator` is 'Exists'",
        )),
        "Exists" => {}
        _ => supported(operator, &operator_field, &["Equal", "Exists"], found),
    }
    if !effect.is_empty() {
        let known = ["NoExecute", "NoSchedule", "PreferNoSchedule"];
        supported(effect, &format!("{field}.effect"), &known, found);
    }
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
        return super::fields::immutable(object, old, "/preemptionPolicy", found);
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
