//! ValidatingAdmissionPolicies: which requests they match, and how they deny.

use std::time::Duration;

use serde_json::{Value, json};

use crate::run::{Ask, Run};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

async fn put(run: &mut Run, kind: &str, plural: &str, name: &str, spec: &Value) {
    let object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec,
    });
    let made = run
        .send_unrecorded(Ask::post(format!("{CONFIGURATIONS}/{plural}"), object))
        .await;
    assert_eq!(made.code, 201, "{made:?}");
}

/// Creates a policy for ConfigMaps with this label, and binds it in the namespace of the run.
async fn policy(run: &mut Run, label: &str, fields: &Value, binding: &Value) {
    let name = format!("pilothouse-{label}");
    let mut spec = json!({
        "matchConstraints": {
            "objectSelector": {"matchLabels": {"policy": label}},
            "resourceRules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        },
    });
    let mut bound = json!({
        "policyName": name, "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": run.namespace}}},
    });
    for (to, from) in [(&mut spec, fields), (&mut bound, binding)] {
        for (field, value) in from.as_object().unwrap() {
            to[field] = value.clone();
        }
    }
    put(
        run,
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        &name,
        &spec,
    )
    .await;
    put(
        run,
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        &name,
        &bound,
    )
    .await;
}

fn map(name: &str, label: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"policy": label}}, "data": data,
    })
}

pub(crate) async fn of_admission(run: &mut Run) {
    let none = json!({});
    let expression = |expression: &str| json!({"validations": [{"expression": expression}]});
    let policies = [
        ("plain", expression("object.data.a != 'x'"), none.clone()),
        (
            "message",
            json!({"validations": [{"expression": "false", "message": "never", "reason": "Forbidden"}]}),
            none.clone(),
        ),
        (
            "too-large",
            json!({"validations": [{"expression": "false", "message": "large", "reason": "RequestEntityTooLarge"}]}),
            none.clone(),
        ),
        (
            "evaluated",
            json!({
                "variables": [{"name": "size", "expression": "size(object.data)"}],
                "validations": [{"expression": "variables.size < 2", "messageExpression": "'too many: ' + string(variables.size)"}],
            }),
            none.clone(),
        ),
        (
            "warn",
            json!({"validations": [{"expression": "false", "message": "be careful"}]}),
            json!({"validationActions": ["Warn", "Audit"]}),
        ),
        (
            "ignore",
            json!({"failurePolicy": "Ignore", "validations": [{"expression": "object.spec.x == 1"}]}),
            none.clone(),
        ),
        (
            "fail",
            json!({"validations": [{"expression": "object.spec.x == 1"}]}),
            none.clone(),
        ),
        (
            "variable",
            json!({
                "variables": [{"name": "broken", "expression": "object.spec.x"}],
                "validations": [{"expression": "variables.broken == 1"}],
            }),
            none.clone(),
        ),
        (
            "condition",
            json!({
                "matchConditions": [{"name": "only", "expression": "object.metadata.name.startsWith('condition')"}],
                "validations": [{"expression": "false", "message": "begins with condition"}],
            }),
            none.clone(),
        ),
        (
            "namespace",
            json!({"validations": [{"expression": "namespaceObject.metadata.name == 'other'", "messageExpression": "'in ' + namespaceObject.metadata.name"}]}),
            none.clone(),
        ),
        (
            "request",
            json!({"validations": [{"expression": "request.operation == 'CREATE' && request.resource.resource == 'configmaps'", "message": "no changes"}]}),
            none.clone(),
        ),
        (
            "old",
            json!({"validations": [{"expression": "oldObject == null || oldObject.data.a == object.data.a", "message": "a stays"}]}),
            none.clone(),
        ),
        (
            "params",
            json!({
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "validations": [{"expression": "size(object.data) <= int(params.data.most)", "messageExpression": "'at most ' + params.data.most"}],
            }),
            json!({"paramRef": {"name": "limits", "parameterNotFoundAction": "Deny"}}),
        ),
        (
            "params-missing",
            json!({
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "validations": [{"expression": "params != null"}],
            }),
            json!({"paramRef": {"name": "missing", "parameterNotFoundAction": "Deny"}}),
        ),
        (
            "params-allowed",
            json!({
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "validations": [{"expression": "false"}],
            }),
            json!({"paramRef": {"name": "missing", "parameterNotFoundAction": "Allow"}}),
        ),
        (
            "elsewhere",
            expression("false"),
            json!({"matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}}),
        ),
    ];
    for (label, fields, binding) in &policies {
        policy(run, label, fields, binding).await;
    }
    let path = run.path("v1/configmaps");
    let limits = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": {"most": "1"}});
    run.send_unrecorded(Ask::post(&path, limits)).await;
    // A real server puts policies into force a little later.
    let dry = format!("{path}?dryRun=All");
    run.until(
        Ask::post(&dry, map("probe", "params", json!({"a": "1", "b": "2"}))),
        |answer| {
            answer.body["message"]
                .as_str()
                .is_some_and(|text| text.contains("at most"))
        },
    )
    .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    for (label, ..) in &policies {
        run.step(
            *label,
            Ask::post(&path, map(label, label, json!({"a": "1"}))),
        )
        .await;
        let denied = json!({"a": "x", "b": "2"});
        run.step(
            format!("{label}: more"),
            Ask::post(&path, map(&format!("{label}-more"), label, denied)),
        )
        .await;
        let change = json!({"data": {"a": "2"}});
        run.step(
            format!("{label}: change"),
            Ask::merge(format!("{path}/{label}"), change),
        )
        .await;
    }
    let mut generated = map("", "message", json!({}));
    generated["metadata"] = json!({"generateName": "some-", "labels": {"policy": "message"}});
    let refused = run.send_unrecorded(Ask::post(&path, generated)).await;
    run.record(
        "a generated name",
        json!([refused.code, refused.body["reason"]]),
    );
    for (label, ..) in &policies {
        for plural in [
            "validatingadmissionpolicybindings",
            "validatingadmissionpolicies",
        ] {
            run.send_unrecorded(Ask::delete(format!(
                "{CONFIGURATIONS}/{plural}/pilothouse-{label}"
            )))
            .await;
        }
    }
}
