use serde_json::Value;

use super::fields::{at, choice, indexed, list, name, required, supported, text};
use crate::names;
use crate::schema::FieldError;

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
    let verbs = "verbs must contain at least one value";
    for (field, rule) in indexed(rule, "/resourceRules", &format!("{field}.{resources}")) {
        values(rule, "verbs", verbs, "verbs", &field, found);
        known_verbs(rule, &field, found);
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
        values(rule, "verbs", verbs, "verbs", &field, found);
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
    for (of, field, value) in [
        ("Exempt", "spec.exempt", exempt),
        ("Limited", "spec.limited", limited),
    ] {
        if kind != of && !value.is_null() {
            found.push(FieldError::forbidden(field, ""));
        }
    }
    match kind {
        "Exempt" => shares(exempt, "spec.exempt", found),
        "Limited" => {
            if limited.is_null() {
                return found.push(FieldError::required("spec.limited", ""));
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
        ("Reject", false) => found.push(FieldError::forbidden(field, "")),
        ("Queue", true) => found.push(FieldError::required(field, "")),
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

/// Refuses verbs that no request has.
fn known_verbs(rule: &Value, field: &str, found: &mut Vec<FieldError>) {
    const KNOWN: [&str; 9] = [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "proxy",
        "update",
        "watch",
    ];
    let verbs = list(rule, "/verbs");
    let is_known = |verb: &Value| verb.as_str().is_some_and(|verb| KNOWN.contains(&verb));
    let all = verbs.iter().any(|verb| verb == "*");
    if !all && !verbs.iter().all(is_known) {
        let field = format!("{field}.verbs");
        found.push(FieldError::not_supported(field, verbs, KNOWN));
    }
}
