use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::feed::Feed;
use super::retries::Retries;
use crate::api::Handle;
use crate::builtin::selects;
use crate::core::Core;
use crate::error::ApiError;
use crate::meta;
use crate::registry::GroupResource;

fn roles() -> GroupResource {
    GroupResource::new("rbac.authorization.k8s.io", "clusterroles")
}

/// Gives each ClusterRole with an aggregation rule the rules of the ClusterRoles that it selects, until the future is dropped.
pub(crate) async fn aggregate(core: Arc<Core>) {
    let handle = Handle::new(&core, "clusterrole-aggregation-controller");
    let mut feed = Feed::new(&handle, Some(vec![roles()]));
    let mut ended = core.unfinished.ended();
    let mut retries = Retries::default();
    loop {
        let all = handle.list(&roles(), None);
        for role in all.iter().filter(|role| !selectors(role).is_empty()) {
            let name = meta::name(role);
            match aggregate_one(&handle, role, &all) {
                Err(error) if !error.is_waiting() => {
                    tracing::debug!(name, %error, "the ClusterRole cannot be written; the sandbox tries again later");
                    retries.add(name, Instant::now());
                }
                _ => retries.forget(name),
            }
        }
        let wake = retries.wait();
        // Each branch may be cancelled: all roles are looked at in any case.
        tokio::select! {
            biased;
            _ = feed.next() => {}
            // The sender lives as long as the core.
            _ = ended.changed() => {}
            () = wake => {
                retries.take_due(Instant::now());
            }
        }
    }
}

fn selectors(role: &Value) -> &[Value] {
    let selectors = role.pointer("/aggregationRule/clusterRoleSelectors");
    selectors
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// `all` are sorted by name.
fn aggregate_one(handle: &Handle, role: &Value, all: &[Arc<Value>]) -> Result<(), ApiError> {
    let mut rules: Vec<Value> = Vec::new();
    for selector in selectors(role) {
        let others = all.iter().filter(|one| meta::name(one) != meta::name(role));
        for other in others.filter(|one| selects(selector, &one["metadata"]["labels"])) {
            for rule in other["rules"].as_array().into_iter().flatten() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    let known = role["rules"].as_array().map_or(&[][..], Vec::as_slice);
    if known == rules {
        return Ok(());
    }
    let uid = meta::uid(role);
    let written = handle.update(&roles(), None, meta::name(role), "", |role| {
        if meta::uid(role) == uid {
            role["rules"] = json!(rules);
        }
    });
    match written {
        Err(error) if error.code != 404 => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Sandbox;

    fn role(name: &str, labels: Value, rules: Value) -> Value {
        json!({"metadata": {"name": name, "labels": labels}, "rules": rules})
    }

    fn aggregated(name: &str, label: &str) -> Value {
        let mut role = role(name, json!({}), json!([]));
        role["aggregationRule"] =
            json!({"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]});
        role
    }

    fn rule(resource: &str) -> Value {
        json!({"verbs": ["get"], "apiGroups": [""], "resources": [resource]})
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_role_has_the_rules_of_those_that_it_selects() {
        let sandbox = Sandbox::builder().seed(1).build().unwrap();
        let handle = Handle::new(sandbox.core(), "test");
        let put = |object: Value| handle.create(&roles(), object).unwrap();
        let rules = async |name: &str| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            handle.get(&roles(), None, name).unwrap()["rules"].clone()
        };
        put(aggregated("a", "for-a"));
        put(role(
            "z",
            json!({"for-b": "true"}),
            json!([rule("pods"), rule("nodes")]),
        ));
        // It is selected itself.
        let mut both = aggregated("b", "for-b");
        both["metadata"]["labels"] = json!({"for-a": "true"});
        put(both);
        put(role(
            "c",
            json!({"for-b": "true"}),
            json!([rule("secrets"), rule("pods")]),
        ));
        let expected = json!([rule("secrets"), rule("pods"), rule("nodes")]);
        assert_eq!(rules("a").await, expected);
        assert_eq!(rules("b").await, expected);
        let unlabel = |object: &mut Value| meta::remove(object, "labels");
        handle.update(&roles(), None, "c", "", unlabel).unwrap();
        assert_eq!(rules("a").await, json!([rule("pods"), rule("nodes")]));
        // What somebody writes into it does not stay.
        let write = |object: &mut Value| object["rules"] = json!([rule("events")]);
        handle.update(&roles(), None, "a", "", write).unwrap();
        assert_eq!(rules("a").await, json!([rule("pods"), rule("nodes")]));
    }
}
