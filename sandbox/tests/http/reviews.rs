//! Authorization: access reviews and RBAC.

use http::Request;
use http_body_util::Full;
use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};

use crate::client::{Answer, Client, MAPS, NAMESPACES};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A server with RBAC. Requests are the administrator's unless they have a token.
pub(super) async fn guarded() -> Client {
    let none = [""; 0];
    let sandbox = Sandbox::builder().seed(1).rbac(true);
    let sandbox = sandbox
        .token("ann", "ann", ["staff"])
        .token("bob", "bob", none);
    Client::of(sandbox.build().unwrap()).await
}

async fn ask(
    client: &Client,
    token: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Value,
) -> Answer {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("http://sandbox{path}"))
        .header("authorization", format!("Bearer {token}"));
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    client.send(request.body(Full::from(body)).unwrap()).await
}

pub(super) async fn read(client: &Client, token: &str, path: &str) -> u16 {
    ask(client, token, "GET", path, &[], Value::Null).await.code
}

fn role(kind: &str, name: &str, rules: Value) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "rules": rules})
}

fn binding(kind: &str, name: &str, role: &str, subject: Value) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": name}, "subjects": [subject]})
}

pub(super) async fn review(client: &Client, kind: &str, spec: Value) -> Value {
    let group = if kind == "TokenReview" {
        "authentication"
    } else {
        "authorization"
    };
    let path = format!("/apis/{group}.k8s.io/v1/{}s", kind.to_lowercase());
    let body = json!({"apiVersion": format!("{group}.k8s.io/v1"), "kind": kind, "spec": spec});
    client.post(&path, &body).await.object()["status"].clone()
}

#[tokio::test]
async fn reviews_can_be_created_but_not_listed_or_read() {
    let client = guarded().await;
    for kind in [
        "authentication.k8s.io/v1/tokenreviews",
        "authorization.k8s.io/v1/subjectaccessreviews",
        "authorization.k8s.io/v1/selfsubjectaccessreviews",
    ] {
        let path = format!("/apis/{kind}");
        assert_eq!(client.get(&path).await.code, 405, "{kind}");
        assert_eq!(client.get(&format!("{path}/a")).await.code, 404, "{kind}");
    }
}

#[tokio::test]
async fn metadata_of_a_review_is_named_as_missing() {
    let client = guarded().await;
    let attributes = json!({"verb": "get", "resource": "pods", "namespace": "default"});
    for (kind, path, spec) in [
        (
            "SubjectAccessReview",
            "subjectaccessreviews",
            json!({"user": "ann", "resourceAttributes": attributes}),
        ),
        (
            "SelfSubjectAccessReview",
            "selfsubjectaccessreviews",
            json!({"resourceAttributes": attributes}),
        ),
        (
            "LocalSubjectAccessReview",
            "namespaces/default/localsubjectaccessreviews",
            json!({"user": "ann", "resourceAttributes": attributes}),
        ),
    ] {
        let path = format!("/apis/authorization.k8s.io/v1/{path}");
        let mut review =
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec});
        let plain = client.post(&path, &review).await;
        assert_eq!(plain.code, 201, "{}", plain.text);
        review["metadata"] = json!({"labels": {"a": "b"}});
        let refused = client.post(&path, &review).await;
        let message = format!("the sandbox does not implement metadata of {kind}");
        assert_eq!(refused.failure(), (501, "NotImplemented", &*message));
    }
}

#[tokio::test]
async fn roles_and_bindings_decide() {
    let client = guarded().await;
    let rules = json!([{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}]);
    client
        .post(
            &format!("{ROLES}/namespaces/default/roles"),
            &role("Role", "reader", rules),
        )
        .await
        .object();
    let staff = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "staff"});
    let bound = binding("RoleBinding", "reader", "Role", staff);
    client
        .post(&format!("{ROLES}/namespaces/default/rolebindings"), &bound)
        .await
        .object();
    let urls = json!([{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}]);
    client
        .post(
            &format!("{ROLES}/clusterroles"),
            &role("ClusterRole", "scraper", urls),
        )
        .await
        .object();
    let robot = json!({"kind": "ServiceAccount", "name": "prom", "namespace": "default"});
    let bound = binding("ClusterRoleBinding", "scraper", "ClusterRole", robot);
    client
        .post(&format!("{ROLES}/clusterrolebindings"), &bound)
        .await
        .object();

    assert_eq!(read(&client, "ann", MAPS).await, 200);
    assert_eq!(read(&client, "bob", MAPS).await, 403);
    assert_eq!(
        read(&client, "ann", "/api/v1/namespaces/kube-system/configmaps").await,
        403
    );
    let created = ask(
        &client,
        "ann",
        "POST",
        MAPS,
        &[],
        json!({"metadata": {"name": "a"}}),
    )
    .await;
    assert_eq!(
        created.failure(),
        (
            403,
            "Forbidden",
            "configmaps is forbidden: User \"ann\" cannot create resource \"configmaps\" in API group \"\" in the namespace \"default\""
        )
    );
    let listed = ask(&client, "bob", "GET", NAMESPACES, &[], Value::Null).await;
    assert_eq!(
        listed.failure().2,
        "namespaces is forbidden: User \"bob\" cannot list resource \"namespaces\" in API group \"\" at the cluster scope"
    );
    // Discovery, which every authenticated user may read.
    for path in ["/api", "/apis/apps/v1", "/openapi/v3", "/version"] {
        assert_eq!(read(&client, "bob", path).await, 200, "{path}");
    }

    let access = async |spec: Value| review(&client, "SubjectAccessReview", spec).await;
    let prom = "system:serviceaccount:default:prom";
    let metrics = |verb: &str| json!({"user": prom, "nonResourceAttributes": {"path": "/metrics", "verb": verb}});
    assert_eq!(
        access(metrics("get")).await,
        json!({"allowed": true, "reason": "RBAC: allowed by ClusterRoleBinding \"scraper\" of ClusterRole \"scraper\" to ServiceAccount \"prom/default\""})
    );
    assert_eq!(access(metrics("head")).await, json!({"allowed": false}));
    let maps = |namespace: &str| {
        json!({"user": "x", "groups": ["staff"], "resourceAttributes":
            {"verb": "get", "resource": "configmaps", "namespace": namespace, "name": "a"}})
    };
    assert_eq!(access(maps("default")).await["allowed"], true);
    assert_eq!(access(maps("")).await["allowed"], false);
    client
        .delete(&format!("{ROLES}/namespaces/default/roles/reader"))
        .await
        .object();
    assert_eq!(
        access(maps("default")).await,
        json!({"allowed": false, "reason": "RBAC: role.rbac.authorization.k8s.io \"reader\" not found"})
    );
}

#[tokio::test]
async fn an_apply_of_an_object_that_does_not_exist_also_needs_create() {
    let client = guarded().await;
    let subject = json!({"kind": "User", "name": "ann"});
    let grant = async |name: &str, verb: &str| {
        let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": [verb]}]);
        let role = role("ClusterRole", name, rules);
        client
            .post(&format!("{ROLES}/clusterroles"), &role)
            .await
            .object();
        let binding = binding("ClusterRoleBinding", name, "ClusterRole", subject.clone());
        client
            .post(&format!("{ROLES}/clusterrolebindings"), &binding)
            .await
            .object();
    };
    let apply = async || {
        let path = format!("{MAPS}/a?fieldManager=ann");
        let headers = [("content-type", "application/apply-patch+yaml")];
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        ask(&client, "ann", "PATCH", &path, &headers, map).await
    };
    grant("patches", "patch").await;
    let refused = apply().await;
    assert_eq!(refused.code, 403);
    grant("creates", "create").await;
    assert_eq!(apply().await.code, 201);
    assert_eq!(apply().await.code, 200);
}

#[tokio::test]
async fn impersonation_and_grants_need_permission() {
    let client = guarded().await;
    let rules = json!([
        {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"]},
        {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"]},
    ]);
    client
        .post(
            &format!("{ROLES}/clusterroles"),
            &role("ClusterRole", "ann", rules),
        )
        .await
        .object();
    let ann = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"});
    client
        .post(
            &format!("{ROLES}/clusterrolebindings"),
            &binding("ClusterRoleBinding", "ann", "ClusterRole", ann),
        )
        .await
        .object();
    for (headers, code) in [
        (&[("impersonate-user", "bob")][..], 200),
        (
            &[
                ("impersonate-user", "bob"),
                ("impersonate-group", "system:masters"),
            ],
            403,
        ),
        (&[("impersonate-user", "carol")], 403),
        (
            &[("impersonate-user", "system:serviceaccount:default:bob")],
            403,
        ),
    ] {
        let answer = ask(&client, "ann", "GET", "/version", headers, Value::Null).await;
        assert_eq!(answer.code, code, "{headers:?} {}", answer.text);
    }
    let grant = async |name: &str, rules: Value| {
        let path = format!("{ROLES}/clusterroles");
        let role = role("ClusterRole", name, rules);
        ask(&client, "ann", "POST", &path, &[], role).await
    };
    assert_eq!(grant("nothing", json!([])).await.code, 201);
    let own = json!([{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"]}]);
    assert_eq!(grant("own", own).await.code, 201);
    let more = json!([
        {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["secrets"]},
        {"verbs": ["get"], "nonResourceURLs": ["/metrics"]},
    ]);
    let refused = grant("more", more).await;
    assert_eq!(
        refused.failure(),
        (
            403,
            "Forbidden",
            "clusterroles.rbac.authorization.k8s.io \"more\" is forbidden: user \"ann\" (groups=[\"staff\" \"system:authenticated\"]) is \
             attempting to grant RBAC permissions not currently held:\n\
             {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}\n\
             {NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}"
        )
    );
}

#[tokio::test]
async fn without_rbac_every_user_may_do_everything_and_reviews_say_so() {
    let client = Client::new().await;
    let spec = json!({"user": "x", "nonResourceAttributes": {"path": "/metrics", "verb": "get"}});
    assert_eq!(
        review(&client, "SubjectAccessReview", spec).await,
        json!({"allowed": true})
    );
    let spec = json!({"resourceAttributes": {"verb": "delete", "resource": "pods"}});
    assert_eq!(
        review(&client, "SelfSubjectAccessReview", spec).await,
        json!({"allowed": true})
    );
}

#[tokio::test]
async fn a_user_sees_the_rules_of_its_roles_and_which_roles_are_missing() {
    let client = guarded().await;
    let ann = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"});
    let rules = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}]);
    let place = format!("{ROLES}/namespaces/default");
    client
        .post(
            &format!("{place}/roles"),
            &role("Role", "seen", rules.clone()),
        )
        .await
        .object();
    for name in ["seen", "missing"] {
        let binding = binding("RoleBinding", name, "Role", ann.clone());
        client
            .post(&format!("{place}/rolebindings"), &binding)
            .await
            .object();
    }
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let asked = async |namespace: &str| {
        let spec = json!({"spec": {"namespace": namespace}});
        let answer = ask(&client, "ann", "POST", path, &[], spec).await;
        answer.object()["status"].clone()
    };
    let here = asked("default").await;
    assert!(
        here["resourceRules"]
            .as_array()
            .unwrap()
            .contains(&rules[0])
    );
    let error = "role.rbac.authorization.k8s.io \"missing\" not found";
    assert_eq!(here["evaluationError"], error);
    let elsewhere = asked("kube-system").await;
    assert!(
        !elsewhere["resourceRules"]
            .as_array()
            .unwrap()
            .contains(&rules[0])
    );
}

#[tokio::test]
async fn the_administrator_sees_the_rules_of_the_roles_and_not_the_privilege_of_its_group() {
    let client = guarded().await;
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let review = json!({"spec": {"namespace": "default"}});
    let rules = async || {
        let answer = client.post(path, &review).await.object();
        answer["status"]["resourceRules"]
            .as_array()
            .unwrap()
            .clone()
    };
    let all = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
    // Those of the bindings of `cluster-admin` and of `system:basic-user`.
    let own = rules().await;
    assert!(own.contains(&all) && own.len() > 1, "{own:?}");
    client
        .delete(&format!("{ROLES}/clusterrolebindings/cluster-admin"))
        .await
        .object();
    assert!(!rules().await.contains(&all));
    // It may do everything all the same, also give others what no role gives it.
    let role = role("ClusterRole", "all", json!([all]));
    client
        .post(&format!("{ROLES}/clusterroles"), &role)
        .await
        .object();
}

#[tokio::test]
async fn a_review_says_which_selectors_it_could_not_use() {
    let client = guarded().await;
    let about = |selector: Value| json!({"user": "ann", "resourceAttributes": {"verb": "list", "resource": "pods", "fieldSelector": selector}});
    let kind = "SubjectAccessReview";
    let usable = about(json!({"rawSelector": "spec.nodeName=a"}));
    assert_eq!(
        review(&client, kind, usable).await,
        json!({"allowed": false})
    );
    let unusable = about(json!({"rawSelector": "spec.nodeName"}));
    assert_eq!(
        review(&client, kind, unusable).await["evaluationError"],
        "spec.resourceAttributes.fieldSelector ignored due to parse error"
    );
}

#[tokio::test]
async fn only_reads_of_a_collection_are_authorized_by_the_name_in_their_field_selector() {
    let client = guarded().await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"],
        "verbs": ["list", "create", "deletecollection"]}]);
    client
        .post(
            &format!("{ROLES}/clusterroles"),
            &role("ClusterRole", "one", rules),
        )
        .await
        .object();
    let ann = json!({"kind": "User", "name": "ann"});
    client
        .post(
            &format!("{ROLES}/clusterrolebindings"),
            &binding("ClusterRoleBinding", "one", "ClusterRole", ann),
        )
        .await
        .object();
    let path = format!("{MAPS}?fieldSelector=metadata.name%3Da");
    let map = json!({"metadata": {"name": "b"}});
    let send =
        async |method: &str, body: Value| ask(&client, "ann", method, &path, &[], body).await.code;
    assert_eq!(send("GET", Value::Null).await, 200);
    assert_eq!(send("POST", map).await, 403);
    assert_eq!(send("DELETE", Value::Null).await, 403);
}

#[tokio::test]
async fn a_user_binds_only_roles_that_the_user_has_or_may_bind() {
    let client = guarded().await;
    let put = async |plural: &str, object: Value| {
        client
            .post(&format!("{ROLES}/{plural}"), &object)
            .await
            .object();
    };
    let api = "rbac.authorization.k8s.io";
    let ann = json!({"kind": "User", "name": "ann"});
    let rules = json!([
        {"verbs": ["create", "update", "patch"], "apiGroups": [api], "resources": ["clusterrolebindings", "clusterroles"]},
        {"verbs": ["bind"], "apiGroups": [api], "resources": ["clusterroles"], "resourceNames": ["free"]},
        {"verbs": ["escalate"], "apiGroups": [api], "resources": ["clusterroles"], "resourceNames": ["open"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
    ]);
    put("clusterroles", role("ClusterRole", "ann", rules)).await;
    put(
        "clusterrolebindings",
        binding("ClusterRoleBinding", "ann", "ClusterRole", ann.clone()),
    )
    .await;
    let secrets = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]);
    let pods = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    for (name, rules) in [
        ("free", &secrets),
        ("own", &pods),
        ("other", &secrets),
        ("open", &pods),
    ] {
        put("clusterroles", role("ClusterRole", name, rules.clone())).await;
    }
    let bind = async |name: &str| {
        let path = format!("{ROLES}/clusterrolebindings");
        let object = binding("ClusterRoleBinding", name, "ClusterRole", ann.clone());
        ask(&client, "ann", "POST", &path, &[], object).await.code
    };
    assert_eq!(bind("free").await, 201);
    // With the role that is bound now ann has what the other one grants.
    assert_eq!(bind("other").await, 201);
    assert_eq!(bind("own").await, 201);
    assert_eq!(bind("cluster-admin").await, 403);
    assert_eq!(bind("absent").await, 404);
    let change = async |name: &str, rules: &Value| {
        let path = format!("{ROLES}/clusterroles/{name}");
        let headers = [("content-type", "application/merge-patch+json")];
        let patch = json!({"rules": rules});
        ask(&client, "ann", "PATCH", &path, &headers, patch)
            .await
            .code
    };
    let nodes = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]}]);
    assert_eq!(change("open", &nodes).await, 200);
    assert_eq!(change("own", &nodes).await, 403);
    let gather =
        json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}});
    let path = format!("{ROLES}/clusterroles/own");
    let headers = [("content-type", "application/merge-patch+json")];
    let refused = ask(&client, "ann", "PATCH", &path, &headers, gather).await;
    assert_eq!(
        refused.failure().2,
        "clusterroles.rbac.authorization.k8s.io \"own\" is forbidden: must have cluster-admin privileges to use the aggregationRule"
    );
}
