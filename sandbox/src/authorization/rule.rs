use serde_json::Value;

use super::Action;
use super::action::ActionTarget;

/// Whether a rule of a role covers an action.
pub(super) fn allows(rule: &Value, action: &Action) -> bool {
    if !has(rule, "verbs", |verb| verb == "*" || verb == action.verb) {
        return false;
    }
    match &action.target {
        ActionTarget::Path(path) => has(rule, "nonResourceURLs", |url| covers_url(url, path)),
        ActionTarget::Resource {
            group,
            resource,
            subresource,
            name,
            ..
        } => {
            has(rule, "apiGroups", |given| given == "*" || given == group)
                && has(rule, "resources", |given| {
                    is_resource(given, resource, subresource)
                })
                && (texts(rule, "resourceNames").next().is_none()
                    || has(rule, "resourceNames", |given| given == name))
        }
    }
}

/// Whether a path, or a pattern that ends in stars, covers a path.
pub(super) fn covers_url(given: &str, path: &str) -> bool {
    let below = given
        .strip_suffix('*')
        .map(|start| start.trim_end_matches('*'));
    given == path || below.is_some_and(|start| path.starts_with(start))
}

fn is_resource(given: &str, resource: &str, subresource: &str) -> bool {
    if given == "*" {
        return true;
    }
    match given.split_once('/') {
        None => subresource.is_empty() && given == resource,
        Some((of, part)) => {
            !subresource.is_empty() && part == subresource && (of == "*" || of == resource)
        }
    }
}

pub(super) fn has(rule: &Value, field: &str, is_it: impl Fn(&str) -> bool) -> bool {
    texts(rule, field).any(is_it)
}

pub(super) fn texts<'a>(rule: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    let values = rule.get(field).and_then(Value::as_array);
    values.into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn on(verb: &str, resource: &str, name: &str) -> Action {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Action {
            verb: verb.into(),
            target: ActionTarget::Resource {
                group: "apps".into(),
                resource: resource.into(),
                subresource: subresource.into(),
                namespace: "a".into(),
                name: name.into(),
            },
        }
    }

    fn rule(resource: &str) -> Value {
        json!({"verbs": ["get"], "apiGroups": ["apps"], "resources": [resource]})
    }

    #[test]
    fn a_subresource_is_covered_only_by_its_own_name() {
        for (given, wanted, covers) in [
            ("deployments", "deployments", true),
            ("deployments", "deployments/scale", false),
            ("deployments/scale", "deployments", false),
            ("deployments/scale", "deployments/scale", true),
            ("*/scale", "deployments/scale", true),
            ("*/scale", "deployments/status", false),
            ("*/scale", "deployments", false),
            ("*", "deployments/scale", true),
            ("deploy", "deployments", false),
        ] {
            let covered = allows(&rule(given), &on("get", wanted, ""));
            assert_eq!(covered, covers, "{given} of {wanted}");
        }
    }

    #[test]
    fn a_rule_must_match_the_verb_the_group_and_the_name() {
        let get = on("get", "deployments", "web");
        assert!(!allows(
            &rule("deployments"),
            &on("list", "deployments", "")
        ));
        let mut other = rule("deployments");
        other["apiGroups"] = json!([""]);
        assert!(!allows(&other, &get));
        other["apiGroups"] = json!(["*"]);
        other["verbs"] = json!(["*"]);
        assert!(allows(&other, &get));
        other["resourceNames"] = json!(["api", "web"]);
        assert!(allows(&other, &get));
        // An object without a name matches no resource name.
        assert!(!allows(&other, &on("create", "deployments", "")));
    }

    #[test]
    fn a_path_is_covered_by_itself_and_by_patterns_with_a_star() {
        let read = |path: &str| Action {
            verb: "get".into(),
            target: ActionTarget::Path(path.into()),
        };
        let urls = |urls: &[&str]| json!({"verbs": ["get"], "nonResourceURLs": urls});
        assert!(allows(&urls(&["/metrics"]), &read("/metrics")));
        assert!(!allows(&urls(&["/metrics"]), &read("/metrics/more")));
        assert!(allows(&urls(&["/debug/*"]), &read("/debug/queue")));
        assert!(!allows(&urls(&["/debug/*"]), &read("/debug")));
        assert!(allows(&urls(&["*"]), &read("/anything")));
        assert!(!allows(&rule("*"), &read("/metrics")));
        assert!(!allows(&urls(&["*"]), &on("get", "deployments", "")));
    }
}
