//! What a role grants that a user does not have.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::rule::{covers_url, has, texts};

/// The smallest part of a rule.
enum Permission<'a> {
    Resource { on: On<'a>, verb: &'a str },
    Url { url: &'a str, verb: &'a str },
}

/// What a permission is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct On<'a> {
    group: &'a str,
    resource: &'a str,
    /// `None` for all objects.
    name: Option<&'a str>,
}

/// The permissions in `wanted` that no rule of `own` covers, sorted, with the text of kube-apiserver for each.
pub(super) fn missing(own: &[Value], wanted: &[Value]) -> Vec<String> {
    let mut of_resources: BTreeMap<On<'_>, Vec<&str>> = BTreeMap::new();
    let mut texts = BTreeSet::new();
    for permission in wanted.iter().flat_map(permissions) {
        if own.iter().any(|rule| permission.is_covered_by(rule)) {
            continue;
        }
        match permission {
            Permission::Resource { on, verb } => of_resources.entry(on).or_default().push(verb),
            Permission::Url { url, verb } => {
                let (url, verb) = (listed(&[url]), listed(&[verb]));
                texts.insert(format!("{{NonResourceURLs:{url}, Verbs:{verb}}}"));
            }
        }
    }
    for (on, verbs) in of_resources {
        let (group, resource) = (listed(&[on.group]), listed(&[on.resource]));
        let name = match on.name {
            Some(name) => format!("ResourceNames:{}, ", listed(&[name])),
            None => String::new(),
        };
        let verbs = listed(&verbs);
        texts.insert(format!(
            "{{APIGroups:{group}, Resources:{resource}, {name}Verbs:{verbs}}}"
        ));
    }
    texts.into_iter().collect()
}

/// Texts as Go lists them.
pub(super) fn listed(texts: &[impl AsRef<str>]) -> String {
    let quoted = texts.iter().map(|text| format!("{:?}", text.as_ref()));
    format!("[{}]", quoted.collect::<Vec<_>>().join(" "))
}

fn permissions(rule: &Value) -> Vec<Permission<'_>> {
    let mut all = Vec::new();
    for group in texts(rule, "apiGroups") {
        for resource in texts(rule, "resources") {
            for verb in texts(rule, "verbs") {
                let on = |name| On {
                    group,
                    resource,
                    name,
                };
                let mut names = texts(rule, "resourceNames").map(Some).collect::<Vec<_>>();
                if names.is_empty() {
                    names.push(None);
                }
                let names = names.into_iter();
                all.extend(names.map(|name| Permission::Resource { on: on(name), verb }));
            }
        }
    }
    for url in texts(rule, "nonResourceURLs") {
        all.extend(texts(rule, "verbs").map(|verb| Permission::Url { url, verb }));
    }
    all
}

impl Permission<'_> {
    fn is_covered_by(&self, rule: &Value) -> bool {
        let is_named = texts(rule, "resourceNames").next().is_some();
        let verb_of = |verb: &str| has(rule, "verbs", |given| given == "*" || given == verb);
        match self {
            Self::Resource { on, verb } => {
                let part = on.resource.split_once('/').map(|(_, part)| part);
                verb_of(verb)
                    && has(rule, "apiGroups", |given| given == "*" || given == on.group)
                    && has(rule, "resources", |given| {
                        let of_all = given.strip_prefix("*/");
                        given == "*" || given == on.resource || of_all.is_some() && of_all == part
                    })
                    && match on.name {
                        Some(name) => {
                            !is_named || has(rule, "resourceNames", |given| given == name)
                        }
                        None => !is_named,
                    }
            }
            Self::Url { url, verb } => {
                verb_of(verb)
                    && !is_named
                    && has(rule, "nonResourceURLs", |given| covers_url(given, url))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_rule_does_not_cover_is_listed_by_resource() {
        let own = [
            json!({"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments", "*/scale"]}),
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]}),
            json!({"verbs": ["get"], "nonResourceURLs": ["/logs/*"]}),
        ];
        let nothing: [String; 0] = [];
        for (wanted, expected) in [
            (
                json!({"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments", "replicasets/scale"]}),
                &nothing[..],
            ),
            (
                json!({"verbs": ["delete"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]}),
                &nothing,
            ),
            (
                json!({"verbs": ["get"], "nonResourceURLs": ["/logs/a", "/logs/*"]}),
                &nothing,
            ),
            (
                json!({"verbs": ["get", "list", "*"], "apiGroups": ["apps"], "resources": ["deployments", "deployments/status"]}),
                &[
                    "{APIGroups:[\"apps\"], Resources:[\"deployments\"], Verbs:[\"list\" \"*\"]}".to_owned(),
                    "{APIGroups:[\"apps\"], Resources:[\"deployments/status\"], Verbs:[\"get\" \"list\" \"*\"]}".to_owned(),
                ],
            ),
            (
                json!({"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}),
                &["{APIGroups:[\"\"], Resources:[\"configmaps\"], Verbs:[\"get\"]}".to_owned()],
            ),
            (
                json!({"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a", "b"]}),
                &["{APIGroups:[\"\"], Resources:[\"configmaps\"], ResourceNames:[\"b\"], Verbs:[\"get\"]}".to_owned()],
            ),
            (
                json!({"verbs": ["get"], "nonResourceURLs": ["/metrics", "/logs"]}),
                &[
                    "{NonResourceURLs:[\"/logs\"], Verbs:[\"get\"]}".to_owned(),
                    "{NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}".to_owned(),
                ],
            ),
        ] {
            assert_eq!(missing(&own, std::slice::from_ref(&wanted)), expected, "{wanted}");
        }
    }
}
