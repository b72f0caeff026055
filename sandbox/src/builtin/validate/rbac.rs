use serde_json::Value;

use super::internal_form::internal_invalid;
use super::part::Part;
use super::selector::{is_usable, label_selector};
use crate::names;
use crate::schema::FieldError;

const GROUP: &str = "rbac.authorization.k8s.io";

/// A Role or ClusterRole.
pub(super) fn role(object: &Value, in_namespace: bool, found: &mut Vec<FieldError>) {
    let role = Part::new(object, "");
    for rule in role.items("rules") {
        policy_rule(&rule, in_namespace, found);
    }
    if let Some(aggregation) = role.set("aggregationRule")
        && !in_namespace
    {
        aggregated(&aggregation, found);
    }
}

fn policy_rule(rule: &Part, in_namespace: bool, found: &mut Vec<FieldError>) {
    if rule.list("verbs").is_empty() {
        rule.get("verbs").missing("", found);
    }
    let paths = rule.get("nonResourceURLs");
    if !rule.list("nonResourceURLs").is_empty() {
        if in_namespace {
            let detail = "namespaced rules cannot apply to non-resource URLs";
            paths.invalid(detail, found);
        }
        let fields = ["apiGroups", "resources", "resourceNames"];
        if fields.iter().any(|field| !rule.list(field).is_empty()) {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            paths.invalid(detail, found);
        }
        return;
    }
    for (field, detail) in [
        (
            "apiGroups",
            "resource rules must supply at least one api group",
        ),
        (
            "resources",
            "resource rules must supply at least one resource",
        ),
    ] {
        if rule.list(field).is_empty() {
            rule.get(field).missing(detail, found);
        }
    }
}

fn aggregated(aggregation: &Part, found: &mut Vec<FieldError>) {
    const LIST: &str = "clusterRoleSelectors";
    if aggregation.list(LIST).is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        return aggregation.get(LIST).missing(detail, found);
    }
    for selector in aggregation.items(LIST) {
        label_selector(selector.value, &selector.path, found);
        if !is_usable(selector.value) {
            selector.invalid_as(Value::Null, "invalid label selector.", found);
        }
    }
}

/// A RoleBinding or ClusterRoleBinding.
pub(super) fn binding(
    object: &Value,
    old: Option<&Value>,
    in_namespace: bool,
    found: &mut Vec<FieldError>,
) {
    let binding = Part::new(object, "");
    let role = binding.get("roleRef");
    role.get("apiGroup").one_of(&[GROUP], found);
    let kinds: &[&str] = match in_namespace {
        true => &["Role", "ClusterRole"],
        false => &["ClusterRole"],
    };
    role.get("kind").one_of(kinds, found);
    role.get("name").required_name(names::path_segment, found);
    for subject in binding.items("subjects") {
        subject_of(&subject, in_namespace, found);
    }
    if let Some(old) = old
        && role.value != Part::new(old, "").get("roleRef").value
    {
        let detail = "field is immutable";
        found.push(internal_invalid(
            "rbac.RoleRef",
            &role.path,
            role.value,
            detail,
        ));
    }
}

fn subject_of(subject: &Part, in_namespace: bool, found: &mut Vec<FieldError>) {
    let name = subject.get("name");
    name.required(found);
    let (kind, group) = (subject.get("kind"), subject.get("apiGroup"));
    match kind.text() {
        "ServiceAccount" => {
            name.name_if_set(names::dns_subdomain, found);
            group.one_of(&[""], found);
            if !in_namespace && subject.text_of("namespace").is_empty() {
                subject.get("namespace").missing("", found);
            }
        }
        "User" | "Group" => group.one_of(&[GROUP], found),
        _ => kind.one_of(&["ServiceAccount", "User", "Group"], found),
    }
}
