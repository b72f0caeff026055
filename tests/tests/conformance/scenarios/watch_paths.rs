//! The deprecated paths of watches, such as `/api/v1/watch/pods`.

use http::Method;
use serde_json::json;

use super::gadget::{gadget, install};
use crate::run::{Ask, PROTOBUF, Run};

/// A user without any right but those of every user.
const NOBODY: &str = "nobody";

pub(crate) async fn of_watches(run: &mut Run) {
    let namespace = run.namespace.clone();
    install(run).await;
    let of = json!({"of": namespace});
    for (kind, object) in [
        (
            "v1/configmaps",
            json!({"metadata": {"name": "a", "labels": of}}),
        ),
        (
            "v1/configmaps",
            json!({"metadata": {"name": "b", "labels": of}}),
        ),
        (
            "v1/podtemplates",
            json!({"metadata": {"name": "a", "labels": of}, "template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}),
        ),
    ] {
        let path = run.path(kind);
        let made = run.send_unrecorded(Ask::post(path, object)).await;
        assert_eq!(made.code, 201, "{made:?}");
    }
    let mut object = gadget("a", json!({}));
    object["metadata"]["labels"] = of;
    let gadgets = run.path("conformance.pilothouse.dev/v1/gadgets");
    let made = run.send_unrecorded(Ask::post(gadgets, object)).await;
    assert_eq!(made.code, 201, "{made:?}");
    let mut asked = reads(&namespace);
    asked.extend(others(&namespace));
    run.steps(asked).await;
}

/// Watches, which end after a second.
fn reads(namespace: &str) -> Vec<(String, Ask)> {
    let core = format!("/api/v1/watch/namespaces/{namespace}");
    let custom = "/apis/conformance.pilothouse.dev/v1/watch";
    let selected = format!("labelSelector=of%3D{namespace}");
    let named = |name: &str| format!("fieldSelector=metadata.name%3D{name}");
    let asked = [
        ("list", format!("{core}/configmaps"), selected.clone()),
        (
            "list: of one name",
            format!("{core}/configmaps"),
            named("a"),
        ),
        (
            "list: watch off",
            format!("{core}/configmaps"),
            format!("watch=0&{selected}"),
        ),
        (
            "list: any version",
            format!("{core}/configmaps"),
            format!("resourceVersion=0&{selected}"),
        ),
        (
            "list: bad version",
            format!("{core}/configmaps"),
            "resourceVersion=x".into(),
        ),
        (
            "list: initial events without match",
            format!("{core}/configmaps"),
            "sendInitialEvents=true".into(),
        ),
        (
            "list: another template",
            format!("{core}/podtemplates"),
            selected.clone(),
        ),
        ("one", format!("{core}/configmaps/a"), String::new()),
        ("one: its name", format!("{core}/configmaps/a"), named("a")),
        (
            "one: another name",
            format!("{core}/configmaps/a"),
            named("b"),
        ),
        (
            "one: another field",
            format!("{core}/configmaps/a"),
            "fieldSelector=metadata.namespace%3Dx".into(),
        ),
        (
            "one: other labels",
            format!("{core}/configmaps/a"),
            "labelSelector=none".into(),
        ),
        (
            "one: which is none",
            format!("{core}/configmaps/none"),
            String::new(),
        ),
        (
            "everywhere",
            "/api/v1/watch/configmaps".into(),
            selected.clone(),
        ),
        (
            "everywhere: one",
            "/api/v1/watch/configmaps/a".into(),
            String::new(),
        ),
        (
            "cluster",
            "/api/v1/watch/namespaces".into(),
            named(namespace),
        ),
        ("cluster: one", core.clone(), String::new()),
        ("cluster: a slash more", format!("{core}/"), String::new()),
        (
            "cluster: in a namespace",
            format!("{core}/nodes"),
            String::new(),
        ),
        (
            "group",
            format!("/apis/apps/v1/watch/namespaces/{namespace}/deployments"),
            String::new(),
        ),
        (
            "group: everywhere",
            "/apis/apps/v1/watch/deployments".into(),
            selected.clone(),
        ),
        (
            "custom",
            format!("{custom}/namespaces/{namespace}/gadgets"),
            selected.clone(),
        ),
        (
            "custom: one",
            format!("{custom}/namespaces/{namespace}/gadgets/a"),
            String::new(),
        ),
        (
            "custom: another name",
            format!("{custom}/namespaces/{namespace}/gadgets/a"),
            named("b"),
        ),
        ("custom: everywhere", format!("{custom}/gadgets"), selected),
        (
            "custom: one everywhere",
            format!("{custom}/gadgets/none"),
            String::new(),
        ),
    ];
    let asked = asked.map(|(step, path, query)| {
        let ask = Ask::get(format!("{path}?timeoutSeconds=1&{query}"));
        (step.to_owned(), ask)
    });
    let one = format!("{core}/configmaps/a?timeoutSeconds=1");
    let mut asked = Vec::from(asked);
    asked.push(("one: as a table".into(), Ask::get(&one).table()));
    asked.push(("one: in protobuf".into(), Ask::get(&one).accept(PROTOBUF)));
    asked.push(("one: as nobody".into(), Ask::get(&one).with_user(NOBODY)));
    asked
}

/// Paths and methods that are no watches.
fn others(namespace: &str) -> Vec<(String, Ask)> {
    let core = format!("/api/v1/watch/namespaces/{namespace}");
    let custom =
        format!("/apis/conformance.pilothouse.dev/v1/watch/namespaces/{namespace}/gadgets");
    let refused = [
        ("no kind", "/api/v1/watch".to_owned()),
        ("no kind: a slash", "/api/v1/watch/".into()),
        ("no kind: a query", "/api/v1/watch?watch=1&a=b".into()),
        ("no kind: of a group", "/apis/apps/v1/watch".into()),
        (
            "no kind: of no group",
            "/apis/none.example.com/v1/watch".into(),
        ),
        ("no kind: of a proxy", "/api/v1/proxy".into()),
        ("unknown kind", "/api/v1/watch/things".into()),
        (
            "unknown kind: of a group",
            "/apis/apps/v1/watch/things".into(),
        ),
        (
            "unknown kind: of no group",
            "/apis/none.example.com/v1/watch/things".into(),
        ),
        (
            "unknown kind: custom",
            "/apis/conformance.pilothouse.dev/v1/watch/things".into(),
        ),
        ("unwatched", "/api/v1/watch/componentstatuses".into()),
        ("unwatched: bindings", format!("{core}/bindings")),
        ("subresource", format!("{core}/configmaps/a/status")),
        ("subresource: of a Pod", format!("{core}/pods/a/status")),
        ("subresource: log", format!("{core}/pods/a/log")),
        ("subresource: custom", format!("{custom}/a/status")),
        ("subresource: of a namespace", format!("{core}/status")),
        ("deeper", format!("{core}/pods/a/status/b")),
        ("twice", "/api/v1/watch/watch/pods".into()),
        (
            "inside",
            format!("/api/v1/namespaces/{namespace}/watch/pods"),
        ),
        (
            "old proxy",
            format!("/api/v1/proxy/namespaces/{namespace}/pods/a"),
        ),
    ];
    let mut asked: Vec<(String, Ask)> = refused
        .map(|(step, path)| (step.to_owned(), Ask::get(path)))
        .into();
    for (name, of) in [("configmaps", core + "/configmaps"), ("gadgets", custom)] {
        for path in [of.clone(), format!("{of}/a")] {
            for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
                let part = path.strip_prefix(&of).unwrap_or_default();
                let step = format!("methods: {method} {name}{part}");
                let path = format!("{path}?timeoutSeconds=1");
                asked.push((step, Ask::new(method, path).body(json!({}))));
            }
        }
    }
    asked
}
