//! What the audit log says of requests, at level `Metadata`.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::hook_server::HookServer;
use crate::run::{Ask, Run};

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
const RBAC: &str = "rbac.authorization.k8s.io/v1";
/// The webhook of ConfigMaps whose label has its name.
const LABEL: &str = "hook";

pub(crate) async fn of_requests(run: &mut Run) {
    let namespace = run.namespace.clone();
    // Requests whose path does not name the namespace.
    let mark = format!("of={namespace}");
    let maps = run.path("v1/configmaps");
    let one = format!("{maps}/a");
    let invalid = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a b"}});
    let stale = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "1"},
    });
    let changed = json!({"data": {"a": "2"}});
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}});
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": namespace}},
    });
    let unnamed =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "some-"}});
    for (step, ask) in [
        ("create", Ask::post(&maps, map("a", ""))),
        ("create: again", Ask::post(&maps, map("a", ""))),
        ("create: invalid", Ask::post(&maps, invalid)),
        (
            "create: no JSON",
            Ask::post(&maps, json!({})).raw("application/json", "{"),
        ),
        (
            "create: dry run",
            Ask::post(format!("{maps}?dryRun=All"), map("b", "")),
        ),
        (
            "create: generated name",
            Ask::post(format!("{maps}?dryRun=All"), unnamed),
        ),
        ("get", Ask::get(&one)),
        ("get: missing", Ask::get(format!("{maps}/none"))),
        ("list", Ask::get(format!("{maps}?limit=1"))),
        (
            "list: all namespaces",
            Ask::get(format!("/api/v1/configmaps?limit=1&{mark}")),
        ),
        (
            "list: one name",
            Ask::get(format!("{maps}?fieldSelector=metadata.name%3Da")),
        ),
        (
            "watch",
            Ask::get(format!("{maps}?watch=1&timeoutSeconds=1")),
        ),
        ("update", Ask::put(&one, map("a", ""))),
        ("update: stale", Ask::put(&one, stale)),
        ("patch", Ask::merge(&one, changed)),
        (
            "patch: missing",
            Ask::merge(format!("{maps}/none"), json!({})),
        ),
        (
            "apply",
            Ask::apply(format!("{maps}/applied?fieldManager=m"), applied),
        ),
        ("delete", Ask::delete(format!("{maps}/applied"))),
        ("delete: missing", Ask::delete(format!("{maps}/none"))),
        (
            "delete a collection",
            Ask::delete(format!("{maps}?labelSelector=a%3Db")),
        ),
        ("unknown resource", Ask::get(run.path("v1/nothings"))),
        (
            "unknown group",
            Ask::get(run.path("none.example.com/v1/things")),
        ),
        ("no resource", Ask::get(format!("/version?{mark}"))),
        (
            "no resource: discovery",
            Ask::get(format!("/apis/apps/v1?{mark}")),
        ),
        ("no resource: missing", Ask::get(format!("/none?{mark}"))),
        (
            "namespace",
            Ask::get(format!("/api/v1/namespaces/{namespace}")),
        ),
        (
            "namespace: status",
            Ask::get(format!("/api/v1/namespaces/{namespace}/status")),
        ),
        (
            "review",
            Ask::post(
                format!("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews?{mark}"),
                review,
            ),
        ),
        ("wrong method", Ask::put(&maps, map("a", ""))),
        ("forbidden", Ask::get(&one).with_user("nobody")),
        (
            "forbidden: no resource",
            Ask::get(format!("/metrics?{mark}")).with_user("nobody"),
        ),
    ] {
        step_of(run, step, ask).await;
    }
    subresources(run).await;
    roles(run, &one).await;
    admission(run, &maps).await;
}

/// Sends a request, and records what the log says of it.
async fn step_of(run: &mut Run, step: &str, ask: Ask) {
    run.send_unrecorded(ask).await;
    let mut events = run.audited().await;
    events.iter_mut().for_each(normalise);
    run.record(step, events.into());
}

/// Removes what differs from request to request, and who the administrator is.
fn normalise(event: &mut Value) {
    let fields = event.as_object_mut().unwrap();
    for field in [
        "auditID",
        "sourceIPs",
        "requestReceivedTimestamp",
        "stageTimestamp",
    ] {
        assert!(
            fields.contains_key(field) || field == "sourceIPs",
            "{field}"
        );
        fields.remove(field);
    }
    // Which of the newer verbs for impersonation allows it.
    fields.remove("authenticationMetadata");
    let groups = fields["user"]["groups"].as_array();
    if groups.is_some_and(|groups| groups.contains(&"system:masters".into())) {
        fields.insert("user".into(), "the administrator".into());
    }
}

async fn subresources(run: &mut Run) {
    let labels = json!({"app": "web"});
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "one", "image": "one:1"}]}}},
    });
    let sets = run.path("apps/v1/replicasets");
    step_of(run, "subresource: create the object", Ask::post(&sets, set)).await;
    let scale = json!({"spec": {"replicas": 0}});
    let path = format!("{sets}/web/scale");
    step_of(run, "subresource: scale", Ask::merge(path, scale)).await;
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    let accounts = run.path("v1/serviceaccounts");
    step_of(
        run,
        "subresource: create the account",
        Ask::post(&accounts, account),
    )
    .await;
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let path = format!("{accounts}/robot/token");
    step_of(run, "subresource: token", Ask::post(path, request)).await;
    let path = format!("{}/none/log", run.path("v1/pods"));
    step_of(run, "subresource: log of no Pod", Ask::get(path)).await;
}

async fn roles(run: &mut Run, one: &str) {
    let role = json!({
        "apiVersion": RBAC, "kind": "Role", "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    });
    let binding = json!({
        "apiVersion": RBAC, "kind": "RoleBinding", "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
    });
    for (kind, object) in [("roles", role), ("rolebindings", binding)] {
        let path = run.path(&format!("{RBAC}/{kind}"));
        let made = run.send_unrecorded(Ask::post(path, object)).await;
        assert_eq!(made.code, 201, "{made:?}");
        run.audited().await;
    }
    let ask = Ask::get(one).with_user("reader");
    run.until(ask.clone(), |answer| answer.code == 200).await;
    // A real server sees new roles a little later.
    tokio::time::sleep(Duration::from_millis(200)).await;
    run.audited().await;
    step_of(run, "allowed by a role", ask).await;
}

fn map(name: &str, hook: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {LABEL: hook}}, "data": {"a": "1"},
    })
}

fn answer(path: &str, review: &Value) -> (u16, String) {
    let patch = json!([{"op": "add", "path": "/data/b", "value": "2"}]);
    let mut response = match path {
        "patch" => {
            json!({"allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch.to_string())})
        }
        "deny" => {
            json!({"allowed": false, "auditAnnotations": {"why": "because", "not/a/key": "x"}})
        }
        "broken" => return (500, "boom".into()),
        _ => json!({"allowed": true, "auditAnnotations": {"seen": path}}),
    };
    response["uid"] = review["request"]["uid"].clone();
    let review = json!({
        "apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response,
    });
    (200, review.to_string())
}

async fn admission(run: &mut Run, maps: &str) {
    let server = HookServer::start(answer).await;
    let namespace = run.namespace.clone();
    let hook = |path: &str, policy: &str| {
        json!({
            "name": format!("{path}.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": policy, "timeoutSeconds": 5,
            "clientConfig": {"url": format!("{}/{path}", server.url), "caBundle": STANDARD.encode(&server.authority)},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "objectSelector": {"matchExpressions": [{"key": LABEL, "operator": "In", "values": [path, "all"]}]},
        })
    };
    let name = format!("{namespace}-rules");
    let mut made = Vec::new();
    for (kind, hooks) in [
        (
            "MutatingWebhookConfiguration",
            [hook("broken", "Ignore"), hook("patch", "Fail")],
        ),
        (
            "ValidatingWebhookConfiguration",
            [hook("deny", "Fail"), hook("note", "Fail")],
        ),
    ] {
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "webhooks": hooks,
        });
        made.push((format!("{}s", kind.to_lowercase()), object));
    }
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [
                {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]},
            "validations": [{"expression": "object.data.a != '1'", "message": "a is 1"}],
            "auditAnnotations": [{"key": "a", "valueExpression": "string(object.data.a)"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Audit"], "matchResources": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "objectSelector": {"matchLabels": {LABEL: "policy"}}}},
    });
    made.push(("validatingadmissionpolicies".into(), policy));
    made.push(("validatingadmissionpolicybindings".into(), binding));
    for (plural, object) in &made {
        let ask = Ask::post(format!("{ADMISSION}/{plural}"), object.clone());
        let answer = run.send_unrecorded(ask).await;
        assert_eq!(answer.code, 201, "{answer:?}");
    }
    let dry = format!("{maps}?dryRun=All");
    run.until(Ask::post(&dry, map("probe", "deny")), |answer| {
        answer.code == 400
    })
    .await;
    run.until(Ask::post(&dry, map("probe", "patch")), |answer| {
        answer.body["data"]["b"] == "2"
    })
    .await;
    // A real server sees a new policy a little later.
    tokio::time::sleep(Duration::from_secs(2)).await;
    run.audited().await;
    for hook in ["patch", "broken", "deny", "note", "all", "policy"] {
        let step = format!("admission: {hook}");
        step_of(run, &step, Ask::post(maps, map(hook, hook))).await;
    }
    for (plural, _) in made {
        let path = format!("{ADMISSION}/{plural}/{name}");
        run.send_unrecorded(Ask::delete(path)).await;
    }
}
