//! The roles that `rbac` prints: each example works with exactly them, and each permission of them is used or has a reason.

mod live;
mod reviewed;
mod unused;
mod used;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use pilothouse::{
    client::{Client, Config, Impersonation},
    k8s::api::{core::v1::Namespace, rbac::v1::PolicyRule},
    manifests::Roles,
    operator::{Operator, Running},
    resource::{DynamicObject, Object, Scheme},
    testing::{Cluster, RecordedRequest, Sandbox},
};
use serde_json::Value;
use tokio::time::timeout;

use unused::{FaultPath, UNUSED, Unused};
use used::refuse_any;

use crate::stories::{EXAMPLES, Example, Place};

/// The namespace of the operators' pods.
const NAMESPACE: &str = "operators";

/// What the example's story ended with.
struct Outcome {
    /// The requests that the server refused.
    forbidden: BTreeSet<String>,
    /// The requests of the operator for resources.
    requests: Vec<RecordedRequest>,
    story: Result<(), String>,
}

/// What an example does.
struct Case<'a> {
    example: &'a Example,
    /// The namespaces in which it works; all if there are none.
    namespaces: &'a [&'a str],
    /// What goes wrong meanwhile.
    fault: Option<FaultPath>,
}

impl<'a> Case<'a> {
    fn everywhere(example: &'a Example) -> Self {
        Self {
            example,
            namespaces: &[],
            fault: None,
        }
    }

    fn operator(&self) -> Operator {
        let namespaces = self.namespaces.iter().copied();
        self.example.operator().namespaces(namespaces)
    }

    /// The namespaces in which the story happens.
    fn places(&self) -> &[&str] {
        match (self.example.name, self.namespaces) {
            // Their stories happen in two namespaces.
            ("configmap-sync" | "shared-database", _) | (_, []) => &["default"],
            (_, namespaces) => namespaces,
        }
    }

    /// The printed roles.
    fn roles(&self) -> Roles {
        roles(self.operator())
    }

    /// Lets the example work with these roles.
    async fn outcome(&self, roles: &Roles) -> Outcome {
        let cluster = Cluster::with(Sandbox::builder().seed(1).simulator(true).rbac(true)).unwrap();
        for namespace in self.namespaces.iter().filter(|name| **name != "default") {
            cluster.create(&Namespace::named(*namespace)).await.unwrap();
        }
        let story = async {
            let running = cluster.run_with_roles(self.operator(), roles).await;
            let running: Running = running.map_err(|error| error.to_string())?;
            let place = Place::from(cluster.clone());
            let mut story = Ok(());
            for namespace in self.places() {
                let place = place.in_namespace(namespace);
                if let Some(fault) = self.fault {
                    fault(&cluster);
                }
                story = story.and((self.example.story)(place).await);
            }
            running.stop().await;
            story
        };
        // Without its caches an operator waits forever.
        let story = timeout(Duration::from_secs(3600), story).await;
        let story = story.unwrap_or_else(|_| Err("it has not ended in an hour".into()));
        let mut requests = cluster.requests();
        let forbidden = requests.iter().filter(|request| request.status == 403);
        let forbidden = forbidden
            .map(|one| format!("{} {}", one.verb, one.path))
            .collect();
        cluster.stop().await;
        let user = format!("system:serviceaccount:{NAMESPACE}:{}", self.example.name);
        requests.retain(|one| one.user == user && !one.resource.is_empty());
        Outcome {
            forbidden,
            requests,
            story,
        }
    }

    /// The example works with its roles, and nothing is refused.
    async fn works(&self) -> Vec<RecordedRequest> {
        let Outcome {
            forbidden,
            requests,
            story,
        } = self.outcome(&self.roles()).await;
        let what = format!("{} in {:?}", self.example.name, self.namespaces);
        assert_eq!(story, Ok(()), "{what}");
        assert_eq!(forbidden, BTreeSet::new(), "{what}");
        requests
    }

    /// The permissions that no request needs in any of the namespaces although they have no reason, and those that a request needs although
    /// they have one. The server decides about each request by the rules alone, so one run with all roles tells what each rule is for.
    async fn wrong(&self) -> Vec<String> {
        let (name, all) = (self.example.name, self.roles());
        let requests = self.works().await;
        let permissions = without_each(&all, name).into_iter();
        let permissions: BTreeSet<String> = permissions.map(|(permission, _)| permission).collect();
        let wrong = permissions.into_iter().filter_map(|permission| {
            let without = without_permission(&all, name, &permission);
            let is_needed = refuse_any(&without, name, &requests);
            let has_reason = UNUSED.iter().any(|one| one.is_for(name, &permission));
            match (is_needed, has_reason) {
                (false, false) => Some(format!("{name}: nothing needs {permission}")),
                (true, true) => Some(format!(
                    "{name}: {permission} is needed, so it needs no reason"
                )),
                (true, false) | (false, true) => None,
            }
        });
        wrong.collect()
    }
}

fn example(name: &str) -> &'static Example {
    EXAMPLES.iter().find(|one| one.name == name).unwrap()
}

/// The namespaces of an operator that does not work in all. The programs of the examples have the roles for these on record.
const NAMESPACES: &[&str] = &["default", "shop"];

fn roles(operator: Operator) -> Roles {
    operator.roles(NAMESPACE).unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_example_works_with_exactly_the_printed_roles() {
    for example in EXAMPLES {
        Case::everywhere(example).works().await;
    }
}

#[tokio::test(start_paused = true)]
async fn each_example_works_with_the_printed_roles_for_its_namespaces() {
    for example in EXAMPLES {
        let case = Case {
            namespaces: NAMESPACES,
            ..Case::everywhere(example)
        };
        let roles = case.roles();
        assert!(roles.roles.len() >= case.namespaces.len(), "{roles:?}");
        case.works().await;
    }
}

#[tokio::test(start_paused = true)]
async fn in_its_namespaces_an_example_needs_each_of_the_printed_permissions() {
    let mut wrong = Vec::new();
    for example in EXAMPLES {
        let case = Case {
            namespaces: NAMESPACES,
            ..Case::everywhere(example)
        };
        wrong.extend(case.wrong().await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each permission is removed from the Role of one namespace, and stays in that of the other one. At least one of the two removals has to
/// fail the story. One example stands for all, because each permission costs a story; the tests beside it compute what the server would refuse.
#[tokio::test(start_paused = true)]
async fn without_a_permission_in_one_of_its_namespaces_something_is_refused() {
    let website = example("website");
    let case = Case {
        namespaces: NAMESPACES,
        ..Case::everywhere(website)
    };
    let mut needed = BTreeMap::<String, bool>::new();
    for (permission, roles) in without_each(&case.roles(), website.name) {
        let Outcome {
            forbidden, story, ..
        } = case.outcome(&roles).await;
        *needed.entry(permission).or_default() |= story.is_err() || !forbidden.is_empty();
    }
    let has_reason = |name: &String| UNUSED.iter().any(|one| one.is_for(website.name, name));
    assert!(needed.len() > 10, "{needed:?}");
    needed.retain(|permission, is_needed| *is_needed == has_reason(permission));
    assert!(needed.is_empty(), "{needed:?}");
}

/// A test of each example compares the records with what its program prints.
#[tokio::test]
async fn the_roles_of_these_tests_are_those_that_the_programs_print() {
    for example in EXAMPLES {
        for (record, namespaces) in [("rbac", &[][..]), ("rbac-namespaces", NAMESPACES)] {
            let case = Case {
                namespaces,
                ..Case::everywhere(example)
            };
            let name = example.name;
            let roles = case.operator().roles(format!("{name}-system")).unwrap();
            assert_eq!(
                roles.to_json().unwrap(),
                recorded(name, record),
                "{name}, {record}"
            );
        }
    }
}

/// The objects that are on record for an example.
fn recorded(example: &str, record: &str) -> Vec<Value> {
    let file = format!("../examples/{example}/tests/printed/{record}.snap");
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    // insta writes two lines and a separator before the text.
    let (_, text) = text
        .trim_start_matches("---\n")
        .split_once("---\n")
        .unwrap();
    let objects = Scheme::new().with_other_kinds().decode(text).into_iter();
    let objects = objects.map(|one| one.unwrap().downcast::<DynamicObject>().unwrap());
    objects
        .map(|object| serde_json::to_value(object).unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_example_needs_each_of_the_printed_permissions() {
    let mut wrong = Vec::new();
    for example in EXAMPLES {
        wrong.extend(Case::everywhere(example).wrong().await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn each_reason_is_for_a_permission_that_is_printed_and_its_fault_needs_it() {
    let mut wrong = Vec::new();
    for reason in UNUSED {
        let examples = EXAMPLES.iter();
        let concerned: Vec<&Example> = examples.filter(|one| reason.concerns(one.name)).collect();
        for example in concerned {
            let case = Case {
                fault: reason.fault,
                ..Case::everywhere(example)
            };
            let Unused { permission, .. } = reason;
            let name = example.name;
            let mut cases = without_each(&case.roles(), name).into_iter();
            let Some((_, roles)) = cases.find(|(one, _)| one == permission) else {
                wrong.push(format!(
                    "{name}: no role has {permission}: remove the reason"
                ));
                continue;
            };
            if case.fault.is_none() {
                continue;
            }
            // The story may not survive the fault.
            let forbidden = case.outcome(&case.roles()).await.forbidden;
            if !forbidden.is_empty() {
                wrong.push(format!(
                    "{name}, {permission}: with all roles, the server refuses {forbidden:?}"
                ));
            }
            if case.outcome(&roles).await.forbidden.is_empty() {
                wrong.push(format!(
                    "{name}: the fault does not need {permission} ({})",
                    reason.reason
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn an_operator_installs_its_definitions_with_the_printed_roles() {
    for example in EXAMPLES {
        let access = example.operator().install_access().unwrap();
        for (roles, is_enough) in [
            (roles(example.operator().access(access)), true),
            (roles(example.operator()), false),
        ] {
            let cluster = Cluster::with(Sandbox::builder().seed(1).rbac(true)).unwrap();
            cluster.create(&Namespace::named(NAMESPACE)).await.unwrap();
            for role in &roles.cluster_roles {
                cluster.create(role).await.unwrap();
            }
            for binding in &roles.cluster_role_bindings {
                cluster.create(binding).await.unwrap();
            }
            let account = Impersonation::service_account(NAMESPACE, example.name);
            let config = Config::new("http://sandbox".parse().unwrap()).with_impersonation(account);
            let pipes = cluster.sandbox().clone();
            let connector = std::sync::Arc::new(move || Ok(pipes.connect()));
            let client = Client::builder(config)
                .connector(connector)
                .build()
                .unwrap();
            let installed = example.operator().install(&client).await;
            assert_eq!(
                installed.is_ok(),
                is_enough,
                "{}: {installed:?}",
                example.name
            );
            cluster.stop().await;
        }
    }
}

/// Each permission of the operator in each of its roles, and the roles without it.
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

/// The roles of the operator without this permission, in whichever namespace.
fn without_permission(all: &Roles, operator: &str, permission: &str) -> Roles {
    let mut roles = all.clone();
    let is_own = |name: &Option<String>| name.as_deref() == Some(operator);
    let everywhere = roles.cluster_roles.iter_mut();
    let everywhere = everywhere.filter(|role| is_own(&role.metadata.name));
    let here = roles.roles.iter_mut().map(|role| &mut role.rules);
    for rules in everywhere.map(|role| &mut role.rules).chain(here) {
        let mut each = single(rules.as_deref().unwrap_or_default());
        each.retain(|rule| shown(rule) != permission);
        *rules = Some(each);
    }
    roles
}

/// Each verb on each resource, and the rules without it.
fn without(rules: &[PolicyRule]) -> Vec<(String, Vec<PolicyRule>)> {
    let all = single(rules);
    let cases = all.iter().enumerate().map(|(number, left_out)| {
        let mut rules = all.clone();
        rules.remove(number);
        (shown(left_out), rules)
    });
    cases.collect()
}

/// A rule for each verb on each resource.
fn single(rules: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut all = Vec::new();
    for rule in rules {
        for resource in rule.resources.iter().flatten() {
            all.extend(rule.verbs.iter().map(|verb| PolicyRule {
                resources: Some(vec![resource.clone()]),
                verbs: vec![verb.clone()],
                ..rule.clone()
            }));
        }
    }
    all
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
