//! Admission rules of an operator: what is refused, and what is installed and removed.

use k8s_openapi::api::core::v1::ConfigMap;

use super::world::sandbox;
use crate::{
    admission::{self, AdmissionRule, Params},
    client::{Api, Client, ListParams},
    operator::{Operator, OperatorError, tests::world::Process},
    resource::{Object, ObjectMeta, PartialObject},
};

/// The limits of a namespace, which no controller reconciles.
#[derive(crate::Resource, Clone, Debug)]
#[resource(
    crate = "crate",
    group = "rules.example.com",
    version = "v1",
    plural = "limits",
    namespaced
)]
struct Limits {
    metadata: ObjectMeta,
    spec: LimitsSpec,
}

#[derive(crate::Schema, Clone, Debug, serde::Deserialize, serde::Serialize)]
#[schema(crate = "crate")]
struct LimitsSpec {
    most: i32,
}

fn small() -> AdmissionRule {
    AdmissionRule::on::<ConfigMap>("small")
        .params::<Limits>(Params::named("limits"))
        .check("size(object.data) <= params.spec.most", "too large")
}

fn team() -> AdmissionRule {
    AdmissionRule::on::<ConfigMap>("team")
        .apply("Object{metadata: Object.metadata{labels: {'team': 'a'}}}")
}

fn operator(rules: impl IntoIterator<Item = AdmissionRule>) -> Operator {
    let operator = Operator::new("scribe");
    rules.into_iter().fold(operator, Operator::admission_rule)
}

fn refused(rules: impl IntoIterator<Item = AdmissionRule>) -> String {
    let operator = operator(rules);
    let checked = operator
        .check()
        .and_then(|()| operator.checked_rules().map(drop));
    checked.unwrap_err().to_string()
}

/// The names of all policies and bindings.
async fn installed(client: &Client) -> Vec<String> {
    let mut names = Vec::new();
    for kind in admission::kinds() {
        let api = Api::<PartialObject>::of(client, kind.clone(), None);
        let all = api.list_all(&ListParams::default()).await.unwrap();
        names.extend(
            all.items
                .iter()
                .map(|one| format!("{} {}", kind.kind, one.name())),
        );
    }
    names
}

#[test]
fn a_wrong_rule_is_named_with_its_place() {
    let line = line!() + 1;
    let error = refused([AdmissionRule::on::<ConfigMap>("a")]);
    let expected = format!(
        "{}:{line}:26: the admission rule `a` on ConfigMap: it does nothing",
        file!()
    );
    assert!(error.starts_with(&expected), "{error}");
    let twice = refused([team(), small(), team()]);
    assert!(
        twice.contains("the rule at ") && twice.contains("has the same name"),
        "{twice}"
    );
}

#[test]
fn an_expression_that_does_not_compile_is_named_with_its_place_and_what_to_do() {
    let on = || AdmissionRule::on::<ConfigMap>("a");
    let line = line!() + 1;
    let mistyped = refused([on().check("size(object.dota) < 3", "x")]);
    let expected = format!(
        "an API server would refuse the admission rules:\n  {}:{line}:34: the admission rule `a` on ConfigMap: check 1, \
         `size(object.dota) < 3`, does not compile: ERROR: <input>:1:12: undefined field 'dota'",
        file!()
    );
    assert!(mistyped.starts_with(&expected), "{mistyped}");
    assert!(mistyped.ends_with("(v1, Kind=ConfigMap)"), "{mistyped}");
    let limits = || Params::named("limits");
    for (rule, expected) in [
        (
            on().params::<Limits>(limits())
                .check("params.spec.least > 0", "x"),
            "undefined field 'least'",
        ),
        (
            on().check("params.spec.most > 0", "x"),
            "undeclared reference to 'params' (in container '')",
        ),
        (
            on().check("self.data == {}", "x"),
            ": write `object`; `self` is for rules in the schema",
        ),
        (
            on().check(
                "true",
                crate::admission::Message::expression("string(authorizer)", "x"),
            ),
            "the message of check 1, `string(authorizer)`, does not compile: ",
        ),
        (
            on().check("object.data", "x"),
            "must evaluate to bool but got map(string, string)",
        ),
        (
            on().only_if("b", "variables.c")
                .variable("c", "true")
                .check("true", "x"),
            "the condition `b`, `variables.c`, does not compile: ",
        ),
        (
            on().apply("Object{dota: {'a': 'b'}}"),
            "default 1, `Object{dota: {'a': 'b'}}`, does not compile: undefined field 'Object.dota'",
        ),
        (
            on().audit_annotation("k", "1"),
            "the audit annotation `k`, `1`, does not compile: ",
        ),
        (
            on().variable("1", "1").check("true", "x"),
            "the variable `1`, `1`, does not compile: Invalid value: \"1\": must be a valid CEL identifier",
        ),
    ] {
        let error = refused([rule]);
        assert!(error.contains(expected), "{error}");
        assert_eq!(
            error.matches("the admission rule `a`").count(),
            1,
            "{error}"
        );
    }
    assert!(operator([small(), team()]).checked_rules().is_ok());
}

#[tokio::test]
async fn a_new_version_removes_the_rules_that_it_does_not_have() {
    let sandbox = sandbox();
    let client = Process::of(&sandbox, "one").client;
    operator([small(), team()]).install(&client).await.unwrap();
    // It belongs to another operator.
    let other = Operator::new("scri").admission_rule(small());
    other.install(&client).await.unwrap();
    let expected = [
        "ValidatingAdmissionPolicyBinding scri.small",
        "ValidatingAdmissionPolicyBinding scribe.small",
        "MutatingAdmissionPolicyBinding scribe.team",
        "ValidatingAdmissionPolicy scri.small",
        "ValidatingAdmissionPolicy scribe.small",
        "MutatingAdmissionPolicy scribe.team",
    ];
    assert_eq!(installed(&client).await, expected);
    let checks = small().apply("Object{}");
    operator([checks]).install(&client).await.unwrap();
    assert_eq!(
        installed(&client).await,
        [
            "ValidatingAdmissionPolicyBinding scri.small",
            "ValidatingAdmissionPolicyBinding scribe.small",
            "MutatingAdmissionPolicyBinding scribe.small",
            "ValidatingAdmissionPolicy scri.small",
            "ValidatingAdmissionPolicy scribe.small",
            "MutatingAdmissionPolicy scribe.small",
        ]
    );
    // `dev` removes also the last rule.
    let without = operator([]).policies().unwrap();
    without.prune(&client).await.unwrap();
    assert_eq!(
        installed(&client).await,
        [
            "ValidatingAdmissionPolicyBinding scri.small",
            "ValidatingAdmissionPolicy scri.small"
        ]
    );
}

#[tokio::test]
async fn the_kinds_of_parameters_are_installed_although_no_controller_reconciles_them() {
    let names = |operator: &Operator| -> Vec<String> {
        let all = operator.definitions().unwrap().into_iter();
        all.map(|one| one.name().to_owned()).collect()
    };
    let both = operator([small(), small()]);
    assert_eq!(names(&both), ["limits.rules.example.com"]);
    let sandbox = sandbox();
    let client = Process::of(&sandbox, "one").client;
    operator([small()]).install(&client).await.unwrap();
    let limits = Api::<Limits>::namespaced(&client, "default");
    limits.list(&ListParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_server_without_mutating_policies_is_named_as_too_old() {
    let sandbox = sandbox();
    let matcher = pilothouse_sandbox::RequestMatcher::any().resource("mutatingadmissionpolicies");
    let answer = pilothouse_sandbox::Answer::status(404, "NotFound");
    sandbox.faults().answer(matcher, answer, 10);
    let client = Process::of(&sandbox, "one").client;
    let error = operator([small(), team()]).install(&client).await;
    let error = error.unwrap_err();
    assert!(
        matches!(&error, OperatorError::RuleNotServed { kind } if kind == "MutatingAdmissionPolicy"),
        "{error}"
    );
    // Checks alone can be installed.
    operator([small()]).install(&client).await.unwrap();
}
