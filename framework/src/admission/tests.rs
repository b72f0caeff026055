use std::collections::BTreeMap;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Namespace},
};
use serde_json::{Value, json};

use super::*;
use crate::{resource::Labels, webhook::Operation};

fn full() -> AdmissionRule {
    AdmissionRule::on::<ConfigMap>("full").check("has(object.data)", "data must not be empty")
}

fn objects(rule: AdmissionRule, namespaces: &[&str]) -> Vec<Value> {
    let labels = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
    policies(&[rule], "site", &labels, &namespaces)
}

fn problem(rule: AdmissionRule) -> String {
    rule.check_settings().unwrap_err()
}

#[test]
fn a_check_becomes_a_policy_with_safe_defaults_and_its_binding() {
    let objects = objects(full(), &[]);
    let metadata = json!({"name": "site.full", "labels": {"a": "b"}});
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"], "scope": "Namespaced",
    });
    let others = json!({"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}
    ]});
    let expected = json!([
        {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"matchPolicy": "Equivalent", "namespaceSelector": others, "resourceRules": [rule]},
                "validations": [
                    {"expression": "has(object.data)", "message": "data must not be empty", "reason": "Invalid"}
                ],
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
            "spec": {"policyName": "site.full", "validationActions": ["Deny"]},
        },
    ]);
    assert_eq!(Value::from(objects), expected);
}

#[test]
fn every_setting_has_its_field() {
    let labels = || Labels::from([("tier", "web")]).selector();
    let rule = AdmissionRule::on::<Deployment>("all")
        .operations([Operation::Update])
        .subresources(["", "scale"])
        .in_namespaces(labels())
        .for_objects(labels())
        .only_if("named", "object.metadata.name != ''")
        .params::<ConfigMap>(
            Params::labelled(labels())
                .in_namespace("settings")
                .optional(),
        )
        .variable("most", "5")
        .check("true", Message::expression("'a' + 'b'", "otherwise"))
        .actions([ValidationAction::Audit, ValidationAction::Warn])
        .reason(Reason::Forbidden)
        .audit_annotation("seen", "'yes'")
        .ignore_failures();
    let selector = json!({"matchLabels": {"tier": "web"}});
    let spec = &objects(rule.clone(), &[])[0]["spec"];
    let constraints = &spec["matchConstraints"];
    assert_eq!(constraints["namespaceSelector"], selector);
    assert_eq!(constraints["objectSelector"], selector);
    let matched = &constraints["resourceRules"][0];
    assert_eq!(matched["operations"], json!(["UPDATE"]));
    assert_eq!(
        matched["resources"],
        json!(["deployments", "deployments/scale"])
    );
    assert_eq!(spec["failurePolicy"], "Ignore");
    assert_eq!(
        spec["paramKind"],
        json!({"apiVersion": "v1", "kind": "ConfigMap"})
    );
    assert_eq!(
        spec["matchConditions"],
        json!([{"name": "named", "expression": "object.metadata.name != ''"}])
    );
    assert_eq!(
        spec["variables"],
        json!([{"name": "most", "expression": "5"}])
    );
    assert_eq!(
        spec["validations"],
        json!([{
            "expression": "true", "message": "otherwise", "messageExpression": "'a' + 'b'", "reason": "Forbidden",
        }])
    );
    assert_eq!(
        spec["auditAnnotations"],
        json!([{"key": "seen", "valueExpression": "'yes'"}])
    );
    let binding = &objects(rule, &["blue", "green"])[1]["spec"];
    let limited = json!({"namespaceSelector": {"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["blue", "green"]}
    ]}});
    let expected = json!({
        "policyName": "site.all", "validationActions": ["Warn", "Audit"], "matchResources": limited,
        "paramRef": {"selector": selector, "namespace": "settings", "parameterNotFoundAction": "Allow"},
    });
    assert_eq!(*binding, expected);
}

#[test]
fn a_default_becomes_a_mutating_policy() {
    let rule = AdmissionRule::on::<ConfigMap>("team")
        .params::<ConfigMap>(Params::named("teams"))
        .apply("Object{}")
        .json_patch("[]")
        .reinvoke();
    let objects = objects(rule, &[]);
    let kinds: Vec<_> = objects.iter().map(|one| one["kind"].clone()).collect();
    assert_eq!(
        kinds,
        ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"]
    );
    let spec = &objects[0]["spec"];
    let mutations = json!([
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}},
        {"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}},
    ]);
    assert_eq!(spec["mutations"], mutations);
    assert_eq!(spec["reinvocationPolicy"], "IfNeeded");
    assert_eq!(spec["validations"], Value::Null);
    let expected = json!({
        "policyName": "site.team", "paramRef": {"name": "teams", "parameterNotFoundAction": "Deny"},
    });
    assert_eq!(objects[1]["spec"], expected);
}

#[test]
fn namespaces_limit_only_rules_about_kinds_that_are_in_them() {
    let matched = |rule| objects(rule, &["blue"])[1]["spec"]["matchResources"].clone();
    let named = AdmissionRule::on::<Namespace>("named").check("true", "x");
    assert!(matched(named).is_object());
    let node = AdmissionRule::on::<k8s_openapi::api::core::v1::Node>("node").check("true", "x");
    assert_eq!(matched(node.clone()), Value::Null);
    // A cluster-scoped object is in no namespace that the default could leave out.
    let constraints = &objects(node, &[])[0]["spec"]["matchConstraints"];
    assert_eq!(constraints["namespaceSelector"], Value::Null);
}

#[test]
fn a_rule_that_cannot_work_says_what_to_do() {
    let on = AdmissionRule::on::<ConfigMap>;
    for (rule, expected) in [
        (
            on("a.b").check("true", "x"),
            "its name has to be a DNS label",
        ),
        (
            on("a"),
            "it does nothing: add what has to hold with `check`, or a default with `apply`",
        ),
        (full().operations([]), "it has no operations"),
        (full().subresources::<&str>([]), "it is for no subresource"),
        (
            full().operations([Operation::Delete]).apply("Object{}"),
            "a default has no object in the operation DELETE: remove it from `operations`, or make two rules",
        ),
        (
            full().reinvoke(),
            "`reinvoke` is for defaults, and it has none: remove it",
        ),
        (full().actions([]), "it has no actions"),
        (
            full().actions([ValidationAction::Deny, ValidationAction::Warn]),
            "it denies and warns",
        ),
        (
            on("a").apply("Object{}").actions([ValidationAction::Warn]),
            "`actions` are for checks, and it has none: remove them",
        ),
        (
            on("a").check("true", " "),
            "the check `true` has no message: say what has to hold",
        ),
        (
            full().params::<ConfigMap>(Params::named("a").in_namespace("A")),
            "the namespace `A` of its parameters has to be a DNS label",
        ),
        (
            full().params::<Namespace>(Params::named("a").in_namespace("b")),
            "its parameters are in the namespace `b`, but Namespace objects are in no namespace: remove `in_namespace`",
        ),
        (
            AdmissionRule::on::<Namespace>("a")
                .check("true", "x")
                .params::<ConfigMap>(Params::named("a")),
            "its parameters are ConfigMap objects in the namespace of the object, but a Namespace is in no namespace: name one with \
             `Params::in_namespace`",
        ),
    ] {
        let problem = problem(rule);
        assert!(problem.starts_with(expected), "{problem}");
    }
    assert_eq!(full().check_settings(), Ok(()));
}
