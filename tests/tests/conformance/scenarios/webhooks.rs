//! Admission webhooks: which requests they see, in which form, and what becomes of their answers.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::hook_server::HookServer;
use crate::run::{Ask, Run};

/// The label that selects a webhook of the configurations below.
const LABEL: &str = "hook";
const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

fn answer(path: &str, review: &Value) -> (u16, String) {
    let seen = &review["request"];
    let patch = |operations: Value| json!({"allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(operations.to_string())});
    let missing = |key: &str| seen["object"]["data"][key].is_null();
    let mut response = match path {
        "deny" => json!({"allowed": false}),
        "deny-message" => {
            json!({"allowed": false, "status": {"message": "not this one"}, "warnings": ["it was close"]})
        }
        "deny-reason" => json!({"allowed": false, "status": {"reason": "Gone", "code": 410}}),
        "deny-status" => json!({"allowed": false, "status": {
            "code": 409, "reason": "Conflict", "message": "taken", "metadata": {},
            "details": {"name": "x", "causes": [{"field": "data.a", "message": "no", "reason": "FieldValueInvalid"}]}}}),
        "deny-low-code" => {
            json!({"allowed": false, "status": {"code": 200, "status": "Success", "message": "fine"}})
        }
        "deny-deletion" if seen["operation"] == "DELETE" => {
            json!({"allowed": false, "status": {"message": "it stays", "code": 403}})
        }
        "deny-connection" => {
            json!({"allowed": false, "status": {"message": "no shell", "code": 403}})
        }
        "warn" => json!({"allowed": true, "warnings": ["first", "second", "first"]}),
        "patch" if missing("b") => patch(json!([{"op": "add", "path": "/data/b", "value": "2"}])),
        "patch-unknown" => patch(json!([{"op": "add", "path": "/unknown", "value": 1}])),
        "patch-wrong" => patch(json!([{"op": "replace", "path": "/data/none/deep", "value": "1"}])),
        "patch-type" => patch(json!([{"op": "add", "path": "/data", "value": 5}])),
        "patch-invalid" => patch(json!([{"op": "add", "path": "/data/not~1valid", "value": "x"}])),
        "patch-name" => {
            patch(json!([{"op": "replace", "path": "/metadata/name", "value": "other"}]))
        }
        "patch-deletion" => patch(json!([{"op": "add", "path": "/data/b", "value": "2"}])),
        "no-patch-type" => json!({"allowed": true, "patch": STANDARD.encode("[]")}),
        "no-patch" => json!({"allowed": true, "patchType": "JSONPatch"}),
        "other-patch-type" => {
            json!({"allowed": true, "patchType": "MergePatch", "patch": STANDARD.encode("[{}]")})
        }
        "scale" => patch(json!([{"op": "replace", "path": "/spec/replicas", "value": 5}])),
        "broken" => return (500, "boom\n".into()),
        "missing" => return (404, "no such page".into()),
        "no-response" => {
            return (
                200,
                json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}).to_string(),
            );
        }
        _ => json!({"allowed": true}),
    };
    response["uid"] = match path {
        "wrong-uid" => "another".into(),
        _ => seen["uid"].clone(),
    };
    let mut review = json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response});
    match path {
        "no-version" => review["apiVersion"] = Value::Null,
        "other-version" => review["apiVersion"] = "admission.k8s.io/v1beta1".into(),
        _ => {}
    }
    (200, review.to_string())
}

/// The webhooks of the scenario: each for the objects whose label names it.
struct Hooks {
    server: HookServer,
    namespace: String,
}

impl Hooks {
    fn hook(&self, path: &str, fields: &Value) -> Value {
        let mut hook = json!({
            "name": format!("{path}.example.com"),
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 5,
            "clientConfig": {"url": format!("{}/{path}", self.server.url), "caBundle": STANDARD.encode(&self.server.authority)},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "objectSelector": {"matchLabels": {LABEL: path}},
        });
        for (field, value) in fields.as_object().unwrap() {
            hook[field] = value.clone();
        }
        hook
    }

    async fn configure(&self, run: &mut Run, kind: &str, name: &str, hooks: &[Value]) {
        let path = format!("{CONFIGURATIONS}/{}s", kind.to_lowercase());
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": {"name": format!("{}-{name}", self.namespace)}, "webhooks": hooks,
        });
        let made = run.send_unrecorded(Ask::post(path, object)).await;
        assert_eq!(made.code, 201, "{made:?}");
    }

    /// Records what the webhooks were asked since the last time.
    fn record(&self, run: &mut Run, step: &str) {
        let mut asked = self.server.take();
        for request in &mut asked {
            // The administrators of the two servers have other groups.
            request.as_object_mut().unwrap().remove("userInfo");
        }
        run.record(format!("{step}: asked"), asked.into());
    }
}

fn map(name: &str, hook: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {LABEL: hook}}, "data": {"a": "1"},
    })
}

pub(crate) async fn of_admission(run: &mut Run) {
    let hooks = Hooks {
        server: HookServer::start(answer).await,
        namespace: run.namespace.clone(),
    };
    let closed = json!({"clientConfig": {"url": "https://127.0.0.1:1/closed"}});
    let ignored =
        json!({"clientConfig": {"url": "https://127.0.0.1:1/closed"}, "failurePolicy": "Ignore"});
    let condition =
        |expression: &str| json!({"matchConditions": [{"name": "only", "expression": expression}]});
    let none = json!({});
    let mut validating = Vec::new();
    for path in [
        "deny",
        "deny-message",
        "deny-reason",
        "deny-status",
        "deny-low-code",
        "deny-deletion",
        "warn",
        "allow",
        "broken",
        "missing",
        "no-response",
        "wrong-uid",
        "no-version",
        "other-version",
    ] {
        validating.push(hooks.hook(path, &none));
    }
    validating.push(hooks.hook("closed", &closed));
    validating.push(hooks.hook("ignored", &ignored));
    validating.push(hooks.hook(
        "condition",
        &condition("has(object.data.b) && request.operation == 'CREATE'"),
    ));
    validating.push(hooks.hook("condition-fails", &condition("object.spec.x == 1")));
    validating.push(hooks.hook(
        "condition-false",
        &condition("object.metadata.name == 'another'"),
    ));
    validating.push(hooks.hook(
        "old",
        &json!({"admissionReviewVersions": ["v1beta1", "v1"]}),
    ));
    validating.push(hooks.hook("no-effects", &json!({"sideEffects": "NoneOnDryRun"})));
    let connections = json!([{"operations": ["CONNECT"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/exec"]}]);
    let connection = json!({"rules": connections, "objectSelector": {}});
    validating.push(hooks.hook("deny-connection", &connection));
    hooks
        .configure(
            run,
            "ValidatingWebhookConfiguration",
            "validating",
            &validating,
        )
        .await;
    let mut mutating = Vec::new();
    for path in [
        "patch",
        "patch-unknown",
        "patch-wrong",
        "patch-type",
        "patch-invalid",
        "patch-name",
        "patch-deletion",
        "no-patch-type",
        "no-patch",
        "other-patch-type",
    ] {
        mutating.push(hooks.hook(path, &none));
    }
    let selects = |value: &str| json!({"objectSelector": {"matchLabels": {LABEL: value}}, "reinvocationPolicy": "IfNeeded"});
    let mut first = hooks.hook("patch", &selects("order"));
    first["name"] = "second.example.com".into();
    mutating.push(first);
    hooks
        .configure(run, "MutatingWebhookConfiguration", "b", &mutating)
        .await;
    let first = hooks.hook("allow", &selects("order"));
    hooks
        .configure(run, "MutatingWebhookConfiguration", "a", &[first])
        .await;
    let scales = json!([{"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["replicasets/scale"]}]);
    let scale = hooks.hook("scale", &json!({"rules": scales, "objectSelector": {}}));
    let events = json!([{"operations": ["CREATE"], "apiGroups": ["events.k8s.io"], "apiVersions": ["v1"], "resources": ["events"]}]);
    let event = hooks.hook("event", &json!({"rules": events, "objectSelector": {}}));
    let exact = json!({"rules": events, "objectSelector": {}, "matchPolicy": "Exact"});
    let exact = hooks.hook("exact", &exact);
    hooks
        .configure(
            run,
            "MutatingWebhookConfiguration",
            "c",
            &[scale, event, exact],
        )
        .await;

    let path = run.path("v1/configmaps");
    // A real server sees new configurations a little later.
    let dry = format!("{path}?dryRun=All");
    run.until(Ask::post(&dry, map("probe", "deny")), |answer| {
        answer.code == 400
    })
    .await;
    run.until(Ask::post(&dry, map("probe", "patch")), |answer| {
        answer.body["data"]["b"] == "2"
    })
    .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    hooks.server.take();

    for name in [
        "allow",
        "warn",
        "deny",
        "deny-message",
        "deny-reason",
        "deny-status",
        "deny-low-code",
        "broken",
        "missing",
        "no-response",
        "wrong-uid",
        "no-version",
        "other-version",
        "closed",
        "ignored",
        "condition-fails",
        "condition-false",
        "condition",
        "old",
        "patch",
        "patch-unknown",
        "patch-wrong",
        "patch-type",
        "patch-invalid",
        "patch-name",
        "no-patch-type",
        "no-patch",
        "other-patch-type",
        "order",
    ] {
        run.step(name, Ask::post(&path, map(name, name))).await;
        hooks.record(run, name);
    }
    run.step("dry run", Ask::post(&dry, map("dry", "patch")))
        .await;
    hooks.record(run, "dry run");
    run.step(
        "dry run: no effects",
        Ask::post(&dry, map("dry", "no-effects")),
    )
    .await;
    hooks.record(run, "dry run: no effects");
    let managed = format!("{path}?fieldManager=me&fieldValidation=Strict");
    run.step("options", Ask::post(managed, map("managed", "patch")))
        .await;
    hooks.record(run, "options");
    let mut generated = map("", "deny");
    generated["metadata"] = json!({"generateName": "some-", "labels": {LABEL: "patch"}});
    let made = run.send_unrecorded(Ask::post(&path, generated)).await;
    run.record("a generated name", json!([made.code, made.body["data"]]));
    let seen = hooks.server.take();
    let (object, name) = (&seen[0]["object"]["metadata"], &seen[0]["name"]);
    run.record(
        "a generated name: asked",
        json!([object["name"], object["generateName"], name]),
    );

    let one = format!("{path}/patch");
    let change = json!({"data": {"b": null, "c": "3"}});
    run.step("merge patch", Ask::merge(&one, change)).await;
    hooks.record(run, "merge patch");
    let mut new = map("patch", "patch");
    new["data"]["d"] = "4".into();
    run.step("put", Ask::put(&one, new)).await;
    hooks.record(run, "put");
    let applied = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "patch", "labels": {LABEL: "patch"}}, "data": {"e": "5"},
    });
    let apply = format!("{one}?fieldManager=applier&force=true");
    run.step("apply", Ask::apply(apply, applied)).await;
    hooks.record(run, "apply");
    let applied = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "applied", "labels": {LABEL: "patch"}}, "data": {"e": "5"},
    });
    let apply = format!("{path}/applied?fieldManager=applier");
    run.step("apply: new", Ask::apply(apply, applied)).await;
    hooks.record(run, "apply: new");

    run.send_unrecorded(Ask::post(&path, map("stays", "deny-deletion")))
        .await;
    hooks.server.take();
    run.step(
        "delete",
        Ask::delete(format!("{path}/stays?gracePeriodSeconds=3")),
    )
    .await;
    hooks.record(run, "delete");
    run.step("delete: allowed", Ask::delete(format!("{path}/allow")))
        .await;
    hooks.record(run, "delete: allowed");
    run.step("delete: patched", Ask::delete(format!("{path}/no-patch")))
        .await;
    hooks.server.take();
    let collection = format!("{path}?labelSelector={LABEL}%3Dwarn");
    run.step("delete collection", Ask::delete(collection)).await;
    hooks.record(run, "delete collection");

    let sets = run.path("apps/v1/replicasets");
    let labels = json!({"app": "web"});
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "one", "image": "one:1"}]}}},
    });
    run.send_unrecorded(Ask::post(&sets, set)).await;
    hooks.server.take();
    let scale = json!({"spec": {"replicas": 3}});
    run.step("scale", Ask::merge(format!("{sets}/web/scale"), scale))
        .await;
    hooks.record(run, "scale");
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "one"}, "message": "hello", "reason": "Test",
        "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": run.namespace},
    });
    run.step("another version", Ask::post(run.path("v1/events"), event))
        .await;
    hooks.record(run, "another version");
    // A webhook decides before anybody looks for the Pod.
    let shell = run.path("v1/pods/none/exec?command=sh&stdin=true");
    run.step("connect", Ask::get(shell)).await;
    hooks.record(run, "connect");
    for (kind, name) in [
        ("validatingwebhookconfigurations", "validating"),
        ("mutatingwebhookconfigurations", "a"),
        ("mutatingwebhookconfigurations", "b"),
        ("mutatingwebhookconfigurations", "c"),
    ] {
        let one = format!("{CONFIGURATIONS}/{kind}/{}-{name}", hooks.namespace);
        run.send_unrecorded(Ask::delete(one)).await;
    }
}
