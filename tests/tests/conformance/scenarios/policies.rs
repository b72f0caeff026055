//! ValidatingAdmissionPolicies and MutatingAdmissionPolicies: which requests they match, how they deny, and what they change.

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

/// The two kinds of policies.
#[derive(Clone, Copy)]
enum Kind {
    Validating,
    Mutating,
}

impl Kind {
    /// The kind and the plural of the policy, and those of its binding.
    fn names(self) -> [[&'static str; 2]; 2] {
        match self {
            Self::Validating => [
                ["ValidatingAdmissionPolicy", "validatingadmissionpolicies"],
                [
                    "ValidatingAdmissionPolicyBinding",
                    "validatingadmissionpolicybindings",
                ],
            ],
            Self::Mutating => [
                ["MutatingAdmissionPolicy", "mutatingadmissionpolicies"],
                [
                    "MutatingAdmissionPolicyBinding",
                    "mutatingadmissionpolicybindings",
                ],
            ],
        }
    }
}

/// Creates a policy for ConfigMaps with this label, and binds it in the namespace of the run.
async fn policy(run: &mut Run, kind: Kind, label: &str, fields: &Value, binding: &Value) {
    let name = format!("pilothouse-{label}");
    let mut spec = json!({
        "matchConstraints": {
            "objectSelector": {"matchLabels": {"policy": label}},
            "resourceRules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        },
    });
    let mut bound = json!({
        "policyName": name,
        "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": run.namespace}}},
    });
    match kind {
        Kind::Validating => bound["validationActions"] = json!(["Deny"]),
        Kind::Mutating => {
            spec["failurePolicy"] = "Fail".into();
            spec["reinvocationPolicy"] = "Never".into();
        }
    }
    for (to, from) in [(&mut spec, fields), (&mut bound, binding)] {
        for (field, value) in from.as_object().unwrap() {
            to[field] = value.clone();
        }
    }
    for ([kind, plural], spec) in kind.names().into_iter().zip([&spec, &bound]) {
        put(run, kind, plural, &name, spec).await;
    }
}

async fn remove(run: &mut Run, kind: Kind, label: &str) {
    for [_, plural] in kind.names() {
        run.send_unrecorded(Ask::delete(format!(
            "{CONFIGURATIONS}/{plural}/pilothouse-{label}"
        )))
        .await;
    }
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
        policy(run, Kind::Validating, label, fields, binding).await;
    }
    let path = run.path("v1/configmaps");
    let limits = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": {"most": "1"}});
    let made = run.send_unrecorded(Ask::post(&path, limits)).await;
    assert_eq!(made.code, 201, "{made:?}");
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
        remove(run, Kind::Validating, label).await;
    }
    of_wrong_types(run).await;
}

/// Policies whose expressions do not compile.
async fn of_wrong_types(run: &mut Run) {
    let rules = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]);
    let apply = |expression: &str| json!({"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]});
    let patch = |expression: &str| json!({"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]});
    let validate = |expression: &str| json!({"validations": [{"expression": expression}]});
    for (case, kind, fields) in [
        ("no-boolean", Kind::Validating, validate("object.spec")),
        (
            "no-field",
            Kind::Validating,
            validate("request.names == ''"),
        ),
        (
            "no-variable",
            Kind::Validating,
            validate("variables.x == 1"),
        ),
        (
            "no-text",
            Kind::Validating,
            json!({"validations": [{"expression": "true", "messageExpression": "1"}]}),
        ),
        (
            "no-authorizer",
            Kind::Validating,
            json!({"validations": [{"expression": "true", "messageExpression": "authorizer.path('/x').check('get').reason()"}]}),
        ),
        (
            "no-annotation",
            Kind::Validating,
            json!({"auditAnnotations": [{"key": "a", "valueExpression": "1"}]}),
        ),
        ("no-object", Kind::Mutating, apply("{}")),
        ("another-object", Kind::Mutating, apply("Object.spec{}")),
        ("unknown-type", Kind::Mutating, apply("Other{}")),
        ("no-patch", Kind::Mutating, patch("[Object{}]")),
        (
            "no-op",
            Kind::Mutating,
            patch("[JSONPatch{op: 1, path: '/a'}]"),
        ),
        ("no-expression", Kind::Mutating, apply(" ")),
        (
            "no-deletion",
            Kind::Mutating,
            json!({
                "matchConstraints": {"resourceRules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]},
                "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}],
            }),
        ),
    ] {
        let [[kind, plural], _] = kind.names();
        let mut object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "pilothouse-refused"},
            "spec": {"matchConstraints": {"resourceRules": rules}},
        });
        for (field, value) in fields.as_object().unwrap() {
            object["spec"][field] = value.clone();
        }
        if plural.starts_with("mutating") {
            object["spec"]["reinvocationPolicy"] = "Never".into();
        }
        let path = format!("{CONFIGURATIONS}/{plural}?dryRun=All");
        run.step(format!("refused: {case}"), Ask::post(path, object))
            .await;
    }
}

pub(crate) async fn of_mutation(run: &mut Run) {
    let none = json!({});
    let apply = |expression: &str| json!({"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]});
    let patch = |expression: &str| json!({"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]});
    let with = |mut fields: Value, more: Value| {
        for (field, value) in more.as_object().unwrap() {
            fields[field] = value.clone();
        }
        fields
    };
    let policies = [
        (
            "apply",
            apply(
                "Object{metadata: Object.metadata{labels: {'applied': 'yes'}}, data: {'b': 'applied'}}",
            ),
            none.clone(),
        ),
        (
            "apply-optional",
            apply("Object{?data: has(object.data.c) ? optional.of({'d': 'x'}) : optional.none()}"),
            none.clone(),
        ),
        (
            "apply-wrong-name",
            apply("Object{metadata: Object.spec{name: 'x'}}"),
            none.clone(),
        ),
        ("apply-unknown", apply("Object{other: 'x'}"), none.clone()),
        (
            "apply-atomic",
            apply("Object{metadata: Object.metadata{managedFields: []}}"),
            none.clone(),
        ),
        (
            "patch",
            patch(
                "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('b~c'), value: 'patched'}]",
            ),
            none.clone(),
        ),
        (
            "patch-object",
            patch(
                "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'x/y': string(size(object.data))}}]",
            ),
            none.clone(),
        ),
        (
            "patch-test",
            patch(
                "[JSONPatch{op: 'test', path: '/data/a', value: '1'}, JSONPatch{op: 'replace', path: '/data/a', value: 'one'}]",
            ),
            none.clone(),
        ),
        (
            "patch-missing",
            patch("[JSONPatch{op: 'remove', path: '/data/none'}]"),
            none.clone(),
        ),
        (
            "error",
            patch("[JSONPatch{op: 'add', path: '/data/b', value: object.spec.x}]"),
            none.clone(),
        ),
        (
            "error-ignored",
            with(
                patch("[JSONPatch{op: 'add', path: '/data/b', value: object.spec.x}]"),
                json!({"failurePolicy": "Ignore"}),
            ),
            none.clone(),
        ),
        (
            "two-mutations",
            json!({"mutations": [
                {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/data/b', value: 'b'}]"}},
                {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{data: {'c': object.data.b + 'c'}}"}},
            ]}),
            none.clone(),
        ),
        (
            "only-some",
            with(
                apply("Object{data: {'b': 'some'}}"),
                json!({"matchConditions": [{"name": "some", "expression": "object.data.a == '1'"}]}),
            ),
            none.clone(),
        ),
        (
            "condition-fails",
            with(
                apply("Object{data: {'b': 'some'}}"),
                json!({"matchConditions": [{"name": "some", "expression": "object.spec.x == '1'"}]}),
            ),
            none.clone(),
        ),
        (
            "patch-unknown",
            patch("[JSONPatch{op: 'add', path: '/other', value: 1}]"),
            none.clone(),
        ),
        (
            "patch-wrong-type",
            patch("[JSONPatch{op: 'add', path: '/data/b', value: 1}]"),
            none.clone(),
        ),
        (
            "authorized-user",
            apply(
                "Object{data: {'delete': string(authorizer.requestResource.check('delete').allowed()), 'create': string(authorizer.requestResource.check('create').allowed())}}",
            ),
            none.clone(),
        ),
        (
            "with-variables",
            with(
                apply("Object{data: {'b': variables.text}}"),
                json!({"variables": [{"name": "text", "expression": "object.data.a + '!'"}]}),
            ),
            none.clone(),
        ),
        (
            "with-params",
            with(
                apply("Object{data: {'b': params.metadata.annotations.text}}"),
                json!({"paramKind": {"apiVersion": "v1", "kind": "ServiceAccount"}}),
            ),
            json!({"paramRef": {"name": "texts", "parameterNotFoundAction": "Deny"}}),
        ),
        (
            "without-params",
            with(
                apply("Object{data: {'b': params.metadata.annotations.text}}"),
                json!({"paramKind": {"apiVersion": "v1", "kind": "ServiceAccount"}}),
            ),
            json!({"paramRef": {"name": "missing", "parameterNotFoundAction": "Deny"}}),
        ),
        (
            "authorized",
            apply(
                "Object{data: {'b': string(authorizer.requestResource.check('delete').allowed()) + string(authorizer.serviceAccount('default', 'nobody').group('').resource('nodes').check('delete').allowed())}}",
            ),
            none.clone(),
        ),
    ];
    for (label, fields, binding) in &policies {
        policy(run, Kind::Mutating, label, fields, binding).await;
    }
    // The second changes what the first has seen, so the first sees it again.
    let counts = "[JSONPatch{op: 'add', path: '/data/seen', value: (has(object.data.seen) ? object.data.seen : '') + 'x'}]";
    for (name, again, expression) in [
        ("again-1", "IfNeeded", counts),
        (
            "again-2",
            "Never",
            "[JSONPatch{op: 'add', path: '/data/b', value: 'b'}]",
        ),
        ("again-3", "Never", counts),
    ] {
        let mut spec = with(patch(expression), json!({"reinvocationPolicy": again}));
        spec["matchConstraints"] = json!({
            "objectSelector": {"matchLabels": {"policy": "again"}},
            "resourceRules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        });
        policy(run, Kind::Mutating, name, &spec, &none).await;
    }
    // Not a ConfigMap: a real server shares one informer of a builtin kind of parameters between both kinds of policies,
    // and stops it for both when the kind that started it has no policy with such parameters any more.
    let texts = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "texts", "annotations": {"text": "given"}}});
    let accounts = run.path("v1/serviceaccounts");
    let made = run.send_unrecorded(Ask::post(accounts, texts)).await;
    assert_eq!(made.code, 201, "{made:?}");
    let path = run.path("v1/configmaps");
    // A real server puts policies into force a little later.
    let dry = format!("{path}?dryRun=All");
    run.until(
        Ask::post(&dry, map("probe", "with-params", json!({"a": "1"}))),
        |answer| answer.body["data"]["b"] == "given",
    )
    .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    const USER: &str = "pilothouse-author";
    for (plural, object) in [
        (
            "roles",
            json!({"metadata": {"name": "author"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]}),
        ),
        (
            "rolebindings",
            json!({
                "metadata": {"name": "author"}, "subjects": [{"kind": "User", "name": USER}],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "author"},
            }),
        ),
    ] {
        let path = run.path(&format!("rbac.authorization.k8s.io/v1/{plural}"));
        run.send_unrecorded(Ask::post(path, object)).await;
    }
    let of_user = |name: &str| map(name, "authorized-user", json!({"a": "1"}));
    let probe = Ask::post(&dry, of_user("probe")).with_user(USER);
    run.until(probe, |answer| answer.code == 201).await;
    run.step(
        "authorized-user: of a role",
        Ask::post(&path, of_user("of-a-role")).with_user(USER),
    )
    .await;
    let labels = policies.iter().map(|(label, ..)| *label).chain(["again"]);
    for label in labels {
        run.step(
            label,
            Ask::post(&path, map(label, label, json!({"a": "1"}))),
        )
        .await;
        let change = json!({"data": {"a": "2", "c": "3"}});
        run.step(
            format!("{label}: change"),
            Ask::merge(format!("{path}/{label}"), change),
        )
        .await;
    }
    let labels = policies.iter().map(|(label, ..)| *label);
    for label in labels.chain(["again-1", "again-2", "again-3"]) {
        remove(run, Kind::Mutating, label).await;
    }
}
