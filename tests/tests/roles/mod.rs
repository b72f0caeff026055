//! The roles that `rbac` prints: each example works with exactly them, and each permission of them is used or has a reason.

mod unused;

use std::{collections::BTreeSet, time::Duration};

use pilothouse::{
    k8s::api::rbac::v1::PolicyRule,
    manifests::Roles,
    operator::{Operator, Running},
    testing::{Cluster, Sandbox},
};
use tokio::time::timeout;

use unused::UNUSED;

use crate::stories::{EXAMPLES, Example};

/// The namespace of the operators' pods.
const NAMESPACE: &str = "operators";

/// The requests that the server refused, and what the example's story ended with.
struct Outcome {
    forbidden: BTreeSet<String>,
    story: Result<(), String>,
}

/// Lets an example work with these roles.
async fn outcome(example: &Example, roles: &Roles) -> Outcome {
    let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(true).rbac(true)).unwrap();
    let story = async {
        let operator = example.operator();
        let running = cluster.run_with_roles(operator, roles).await;
        let running: Running = running.map_err(|error| error.to_string())?;
        let story = (example.story)(cluster.clone().into()).await;
        running.stop().await;
        story
    };
    // Without its caches an operator waits forever.
    let story = timeout(Duration::from_secs(3600), story).await;
    let story = story.unwrap_or_else(|_| Err("it has not ended in an hour".into()));
    let requests = cluster.requests();
    let forbidden = requests.iter().filter(|request| request.status == 403);
    let forbidden = forbidden
        .map(|one| format!("{} {}", one.verb, one.path))
        .collect();
    cluster.stop().await;
    Outcome { forbidden, story }
}

fn roles(operator: Operator) -> Roles {
    operator.roles(NAMESPACE).unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_example_works_with_exactly_the_printed_roles() {
    for example in EXAMPLES {
        let Outcome { forbidden, story } = outcome(example, &roles(example.operator())).await;
        assert_eq!(story, Ok(()), "{}", example.name);
        assert_eq!(forbidden, BTreeSet::new(), "{}", example.name);
    }
}

#[tokio::test(start_paused = true)]
async fn without_any_of_the_printed_permissions_something_is_refused() {
    let mut wrong = Vec::new();
    for example in EXAMPLES {
        let all = roles(example.operator());
        for (permission, roles) in without_each(&all, example.name) {
            let Outcome { forbidden, story } = outcome(example, &roles).await;
            let is_needed = story.is_err() || !forbidden.is_empty();
            let has_reason = UNUSED.iter().any(|(who, what, _)| {
                permission == *what && who.is_none_or(|who| who == example.name)
            });
            match (is_needed, has_reason) {
                (false, false) => {
                    wrong.push(format!("{}: nothing needs {permission}", example.name))
                }
                (true, true) => wrong.push(format!(
                    "{}: {permission} is needed, so it needs no reason",
                    example.name
                )),
                (true, false) | (false, true) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each permission of the operator, and the roles without it.
fn without_each(all: &Roles, operator: &str) -> Vec<(String, Roles)> {
    let mut cases = Vec::new();
    for (number, role) in all.cluster_roles.iter().enumerate() {
        // The others are for people.
        if role.metadata.name.as_deref() == Some(operator) {
            for (permission, rules) in without(role.rules.as_deref().unwrap_or_default()) {
                let mut roles = all.clone();
                roles.cluster_roles[number].rules = Some(rules);
                cases.push((permission, roles));
            }
        }
    }
    for (number, role) in all.roles.iter().enumerate() {
        for (permission, rules) in without(role.rules.as_deref().unwrap_or_default()) {
            let mut roles = all.clone();
            roles.roles[number].rules = Some(rules);
            cases.push((permission, roles));
        }
    }
    cases
}

/// Each verb on each resource, and the rules without it.
fn without(rules: &[PolicyRule]) -> Vec<(String, Vec<PolicyRule>)> {
    let single = |rule: &PolicyRule| -> Vec<PolicyRule> {
        let resources = rule.resources.clone().unwrap_or_default();
        let pairs = resources.into_iter().flat_map(|resource| {
            let verbs = rule.verbs.clone();
            verbs.into_iter().map(move |verb| (resource.clone(), verb))
        });
        pairs
            .map(|(resource, verb)| PolicyRule {
                resources: Some(vec![resource]),
                verbs: vec![verb],
                ..rule.clone()
            })
            .collect()
    };
    let all: Vec<PolicyRule> = rules.iter().flat_map(single).collect();
    let cases = all.iter().enumerate().map(|(number, left_out)| {
        let mut rules = all.clone();
        rules.remove(number);
        (shown(left_out), rules)
    });
    cases.collect()
}

fn shown(rule: &PolicyRule) -> String {
    let (resource, part) = match rule.resources.as_deref() {
        Some([one]) => one.split_once('/').unwrap_or((one, "")),
        _ => unreachable!("one resource"),
    };
    let group = rule.api_groups.iter().flatten().map(String::as_str);
    let names = [rule.verbs[0].as_str(), " ", resource].into_iter();
    let group: Vec<&str> = group.filter(|group| !group.is_empty()).collect();
    let mut text: String = names.collect();
    for group in group {
        text += &format!(".{group}");
    }
    match part {
        "" => text,
        part => format!("{text}/{part}"),
    }
}
