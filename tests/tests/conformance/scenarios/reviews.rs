//! Token reviews and access reviews.

use serde_json::{Value, json};

use crate::run::{Answer, Ask, Run};

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

fn path(kind: &str) -> String {
    let group = match kind {
        "TokenReview" => AUTHENTICATION,
        _ => AUTHORIZATION,
    };
    format!("/apis/{group}/v1/{}s", kind.to_lowercase())
}

fn review(kind: &str, spec: Value) -> Ask {
    let path = path(kind);
    let group = path.split('/').nth(2).unwrap_or_default();
    let body = json!({"apiVersion": format!("{group}/v1"), "kind": kind, "spec": spec});
    Ask::post(path, body)
}

pub(crate) async fn of_tokens(run: &mut Run) {
    let kind = "TokenReview";
    for (step, spec) in [
        ("nobody's", json!({"token": "nobody"})),
        (
            "nobody's, for somebody",
            json!({"token": "nobody", "audiences": ["me"]}),
        ),
        ("empty", json!({"token": ""})),
        ("none", json!({})),
    ] {
        run.step(step, review(kind, spec)).await;
    }
    run.step("no spec", Ask::post(path(kind), json!({"metadata": {}})))
        .await;
    run.step("a token that is none", review(kind, json!({"token": 7})))
        .await;
    run.step("list", Ask::get(path(kind))).await;
    run.step("get", Ask::get(format!("{}/a", path(kind)))).await;

    let accounts = run.path("v1/serviceaccounts");
    run.send_unrecorded(Ask::post(&accounts, json!({"metadata": {"name": "robot"}})))
        .await;
    let usual = token(run, json!({})).await;
    of_token(run, "an account's", &usual, json!({"token": usual.clone()})).await;
    let for_others = json!({"token": usual.clone(), "audiences": ["me"]});
    of_token(run, "an account's, for others", &usual, for_others).await;
    let mine = token(run, json!({"audiences": ["me", "you"]})).await;
    of_token(run, "for others", &mine, json!({"token": mine.clone()})).await;
    let for_me = json!({"token": mine.clone(), "audiences": ["me"]});
    of_token(run, "for me", &mine, for_me).await;
    let all = json!({"token": mine.clone(), "audiences": ["they", "you", "me"]});
    of_token(run, "for some of them", &mine, all).await;
}

/// Returns a token of the service account.
async fn token(run: &mut Run, spec: Value) -> String {
    let path = run.path("v1/serviceaccounts/robot/token");
    let answer = run
        .send_unrecorded(Ask::post(path, json!({"spec": spec})))
        .await;
    let token = answer.body["status"]["token"].as_str();
    token.unwrap_or_default().to_owned()
}

/// The issuers of tokens on both servers, the longer name first.
const ISSUERS: [&str; 2] = [
    "https://kubernetes.default.svc.cluster.local",
    "https://kubernetes.default.svc",
];

/// Records the review of a token without the token and its issuer, which differ between servers.
async fn of_token(run: &mut Run, step: &str, token: &str, spec: Value) {
    let Answer { code, body, .. } = run.send_unrecorded(review("TokenReview", spec)).await;
    let text = body.to_string().replace(token, "(token)");
    let text = ISSUERS
        .iter()
        .fold(text, |text, issuer| text.replace(issuer, "(issuer)"));
    let body: Value = serde_json::from_str(&text).unwrap();
    run.record(step, json!({"code": code, "body": body}));
}

/// Returns the questions, which are the same for the caller itself and for others.
fn questions() -> Vec<(&'static str, Value)> {
    let resource = json!({"verb": "get", "resource": "pods", "namespace": "default"});
    let url = json!({"verb": "get", "path": "/metrics"});
    vec![
        ("resource", json!({"resourceAttributes": resource})),
        (
            "every word of a resource",
            json!({"resourceAttributes": {"verb": "update", "group": "apps", "version": "v1", "resource": "deployments",
                "subresource": "scale", "name": "web", "namespace": "default"}}),
        ),
        ("url", json!({"nonResourceAttributes": url})),
        (
            "both",
            json!({"resourceAttributes": resource, "nonResourceAttributes": url}),
        ),
        ("neither", json!({})),
    ]
}

/// Records what a user may do in the namespace by its own role there, and by the roles of every user.
async fn of_rules(run: &mut Run) {
    const USER: &str = "reader";
    let group = "rbac.authorization.k8s.io";
    let role = |name: &str| json!({"apiGroup": group, "kind": "Role", "name": name});
    let body = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": {"name": "reader"},
        "rules": [
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"], "resourceNames": ["web"]},
            {"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["*"]},
        ],
    });
    let roles = run.path(&format!("{group}/v1/roles"));
    run.send_unrecorded(Ask::post(roles, body)).await;
    for (name, role) in [("reader", role("reader")), ("missing", role("missing"))] {
        let subjects = json!([{"apiGroup": group, "kind": "User", "name": USER}]);
        let body = json!({
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": role, "subjects": subjects,
        });
        let bindings = run.path(&format!("{group}/v1/rolebindings"));
        run.send_unrecorded(Ask::post(bindings, body)).await;
    }
    let kind = "SelfSubjectRulesReview";
    run.step("own rules: no namespace", review(kind, json!({})))
        .await;
    let spec = json!({"namespace": run.namespace});
    let granted = |answer: &Answer| {
        let rules = answer.body["status"]["resourceRules"].as_array();
        let mut own = rules.into_iter().flatten();
        own.any(|rule| rule["apiGroups"] == json!(["apps"]))
    };
    let ask = review(kind, spec);
    let answer = run.until(ask.clone().with_user(USER), granted).await;
    record_rules(run, "own rules", answer);
    let answer = run.send_unrecorded(ask.clone()).await;
    record_rules(run, "own rules: of the administrator", answer);
    let answer = run.send_unrecorded(ask.in_protobuf()).await;
    record_rules(run, "own rules: in protobuf", answer);
}

/// Records rules in an order of their own: a real server reads bindings from a cache, in no particular order.
fn record_rules(run: &mut Run, step: &str, mut answer: Answer) {
    for list in ["resourceRules", "nonResourceRules"] {
        let rules = answer.body["status"][list].as_array_mut();
        rules.unwrap().sort_by_key(Value::to_string);
    }
    run.record(step, json!([answer.code, answer.content_type, answer.body]));
}

/// Returns selectors of the resource that a review asks about.
fn selectors() -> Vec<(&'static str, Value)> {
    let one = |key: &str, operator: &str, values: &[&str]| match values {
        [] => json!({"key": key, "operator": operator}),
        values => json!({"key": key, "operator": operator, "values": values}),
    };
    let fields = |requirements: Value| json!({"fieldSelector": {"requirements": requirements}});
    let labels = |requirements: Value| json!({"labelSelector": {"requirements": requirements}});
    let node = one("spec.nodeName", "In", &["n"]);
    let app = one("app", "NotIn", &["a", "b"]);
    vec![
        (
            "raw",
            json!({"fieldSelector": {"rawSelector": "spec.nodeName=n"}, "labelSelector": {"rawSelector": "app in (a),!b"}}),
        ),
        (
            "raw and wrong",
            json!({"fieldSelector": {"rawSelector": "nodeName"}, "labelSelector": {"rawSelector": "app in"}}),
        ),
        ("fields", fields(json!([node]))),
        ("labels", labels(json!([app, one("b", "Exists", &[])]))),
        ("nothing", json!({"fieldSelector": {}, "labelSelector": {}})),
        (
            "raw and requirements",
            json!({"fieldSelector": {"rawSelector": "a=b", "requirements": [node]}}),
        ),
        (
            "two values of a field",
            fields(json!([node, one("a", "In", &["b", "c"])])),
        ),
        (
            "a field that exists",
            fields(json!([one("a", "Exists", &[])])),
        ),
        ("no value of a field", fields(json!([one("", "In", &[])]))),
        (
            "unknown operators",
            labels(json!([app, one("b", "Like", &["c"])])),
        ),
        (
            "wrong labels",
            labels(json!([one("-", "In", &["-"]), one("a", "Exists", &["b"])])),
        ),
    ]
}

pub(crate) async fn of_access(run: &mut Run) {
    of_rules(run).await;
    for (step, spec) in questions() {
        let step = format!("own: {step}");
        run.step(step, review("SelfSubjectAccessReview", spec))
            .await;
    }
    let kind = "SubjectAccessReview";
    for (step, mut spec) in questions() {
        spec["user"] = "ann".into();
        run.step(format!("user: {step}"), review(kind, spec)).await;
    }
    let (_, question) = questions().remove(0);
    let somebody = [
        ("groups", json!({"groups": ["staff", "others"]})),
        (
            "all that is known",
            json!({"user": "ann", "groups": ["staff"], "uid": "7", "extra": {"from": ["here", "there"]}}),
        ),
        ("nobody", json!({})),
        ("an empty user", json!({"user": "", "groups": []})),
    ];
    for (step, mut spec) in somebody {
        spec["resourceAttributes"] = question["resourceAttributes"].clone();
        run.step(step, review(kind, spec)).await;
    }
    for (step, selectors) in selectors() {
        let mut spec = question.clone();
        spec["user"] = "ann".into();
        for (name, selector) in selectors.as_object().unwrap() {
            spec["resourceAttributes"][name] = selector.clone();
        }
        run.step(format!("selectors: {step}"), review(kind, spec))
            .await;
    }
    run.step("nobody and nothing", review(kind, json!({})))
        .await;
    for kind in ["SelfSubjectAccessReview", kind] {
        run.step(
            format!("{kind}: another kind"),
            Ask::post(path(kind), json!({"apiVersion": "v1", "kind": "ConfigMap"})),
        )
        .await;
        run.step(format!("{kind}: list"), Ask::get(path(kind)))
            .await;
        run.step(
            format!("{kind}: delete"),
            Ask::delete(format!("{}/a", path(kind))),
        )
        .await;
    }
}
