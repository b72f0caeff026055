//! Requests that the program did not declare are not sent.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::{Request, Response};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use serde_json::json;

use crate::{
    client::{AccessGuard, Api, Body, Client, Deadlines, DeleteParams, Patch, PatchParams},
    resource::{Access, AccessRule, ApiResource, DynamicObject},
};

/// A client that answers each request with an object, and the number of its requests.
fn counted() -> (Client, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let client = Client::from_service(tower::service_fn(move |_: Request<Body>| {
        count.fetch_add(1, Ordering::Relaxed);
        let object = json!({"metadata": {"name": "web"}, "items": []}).to_string();
        async move { Ok::<_, std::convert::Infallible>(Response::new(object)) }
    }));
    (client, sent)
}

fn guarded(client: &Client, access: impl Into<Access>, namespace: Option<&str>) -> Client {
    let namespaces = namespace.map(|one| vec![one.to_owned()]);
    client.guarded(Arc::new(AccessGuard::new(&access.into(), namespaces)))
}

fn patch() -> Patch {
    Patch::Merge(json!({}))
}

#[tokio::test]
async fn an_undeclared_request_is_not_sent_and_the_error_suggests_the_line() {
    let (client, sent) = counted();
    let client = guarded(&client, AccessRule::of::<Deployment>(["patch"]), None);
    let deployments = Api::<Deployment>::namespaced(&client, "default");
    let maps = Api::<ConfigMap>::all(&client);
    let widgets = ApiResource {
        group: "example.com".into(),
        kind: String::from("Widget").into(),
        plural: String::from("widgets").into(),
        ..ApiResource::of::<Deployment>()
    };
    let widgets = Api::<DynamicObject>::of(&client, widgets, Some("default"));
    let raw = Request::delete("/apis/apps/v1/namespaces/default/deployments")
        .body(Body::empty())
        .unwrap();
    let texts = [
        deployments
            .delete("web", &DeleteParams::default())
            .await
            .err(),
        deployments.get("web").await.err(),
        deployments
            .patch_status("web", &PatchParams::default(), &patch())
            .await
            .err(),
        maps.list(&Default::default()).await.err(),
        widgets.get("one").await.err(),
        client.send(raw).await.err(),
    ];
    let texts = texts.map(|error| {
        let error = error.expect("a refusal");
        assert!(error.is_not_declared() && !error.is_transient() && !error.is_outcome_unknown());
        error.to_string()
    });
    assert_eq!(
        texts,
        [
            "delete Deployment default/web: not declared: add `.deletes::<Deployment>()` to wire",
            "get Deployment default/web: not declared: add `.access(AccessRule::of::<Deployment>([\"get\"]))` to wire",
            "patch Deployment default/web/status: not declared: add `.access(AccessRule::of::<Deployment>([\"patch\"]).subresource(\"status\"))` to wire",
            "list configmaps in all namespaces: not declared: add `.reads::<ConfigMap>()` to wire",
            "get Widget default/one: not declared: add `.access(AccessRule::new(\"example.com\", \"widgets\", [\"get\"]))` to wire",
            "send DELETE /apis/apps/v1/namespaces/default/deployments: not declared: add `.access(AccessRule::new(\"apps\", \"deployments\", [\"deletecollection\"]))` to wire",
        ]
    );
    assert_eq!(sent.load(Ordering::Relaxed), 0);
    deployments
        .patch("web", &PatchParams::default(), &patch())
        .await
        .unwrap();
    assert_eq!(sent.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_namespace_outside_the_operators_must_be_declared() {
    let (client, _) = counted();
    let access = AccessRule::of::<ConfigMap>(["get", "list"]);
    let narrow = guarded(&client, access.clone(), Some("apps"));
    let of = |client: &Client, namespace: &str| Api::<ConfigMap>::namespaced(client, namespace);
    of(&narrow, "apps").get("web").await.unwrap();
    let refused = of(&narrow, "other")
        .get("web")
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        refused,
        "get ConfigMap other/web: not declared for namespace other: add `.access(AccessRule::of::<ConfigMap>([\"get\"]).in_namespace(\"other\"))` to wire"
    );
    let all = Api::<ConfigMap>::all(&narrow)
        .list(&Default::default())
        .await;
    assert!(
        all.unwrap_err()
            .to_string()
            .contains("(AccessRule::of::<ConfigMap>([\"list\"]).everywhere())")
    );

    let wider = Access::from(access.clone()).and(access.in_namespace("other"));
    of(&guarded(&client, wider, Some("apps")), "other")
        .get("web")
        .await
        .unwrap();
}

#[tokio::test]
async fn a_permission_for_a_name_allows_lists_of_that_object() {
    let (client, _) = counted();
    let client = guarded(
        &client,
        AccessRule::of::<ConfigMap>(["get", "list"]).named("web"),
        None,
    );
    let maps = Api::<ConfigMap>::namespaced(&client, "default");
    maps.get("web").await.unwrap();
    assert!(maps.get("other").await.unwrap_err().is_not_declared());
    let named = |name: &str| {
        format!(
            "/api/v1/namespaces/default/configmaps?limit=5&fieldSelector=metadata.name%3D{name}"
        )
    };
    for (name, passes) in [("web", true), ("other", false)] {
        let request = Request::get(named(name)).body(Body::empty()).unwrap();
        assert_eq!(client.send(request).await.is_ok(), passes, "{name}");
    }
}

#[tokio::test]
async fn nonresource_paths_and_self_reviews_are_allowed() {
    let (client, _) = counted();
    // Clients made of it are guarded, too.
    let client = guarded(&client, Access::none(), None)
        .with_own_connections(Deadlines::default())
        .fenced(|| Ok(()));
    let send = async |request: http::request::Builder| {
        client.send(request.body(Body::empty()).unwrap()).await
    };
    for path in ["/version", "/apis", "/apis/apps/v1", "/readyz"] {
        send(Request::get(path)).await.unwrap();
    }
    send(Request::post(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    ))
    .await
    .unwrap();
    assert!(
        send(Request::get("/api/v1/pods?watch=1"))
            .await
            .unwrap_err()
            .is_not_declared()
    );
}

#[tokio::test]
async fn used_permissions_are_distinguished_from_unused_ones() {
    let (client, _) = counted();
    let access = Access::from(AccessRule::of::<ConfigMap>(["get", "list", "watch"]))
        .and(AccessRule::of::<Deployment>(["create", "patch", "delete"]))
        .and(AccessRule::of::<Deployment>(["update"]).subresource("finalizers"));
    let guard = Arc::new(AccessGuard::new(&access, None));
    assert_eq!(
        guard.unused().to_string(),
        "configmaps: get, list, watch; deployments.apps: create, delete, patch"
    );
    let client = client.guarded(guard.clone());
    let deployments = Api::<Deployment>::namespaced(&client, "default");
    deployments
        .patch("web", &PatchParams::default(), &patch())
        .await
        .unwrap();
    guard.note_use(&AccessRule::of::<ConfigMap>(["list"]).into());
    assert_eq!(guard.unused().to_string(), "deployments.apps: delete");
}

#[tokio::test]
async fn a_grant_allows_requests_until_its_last_copy_is_dropped() {
    let (client, sent) = counted();
    let guard = Arc::new(AccessGuard::new(
        &Access::none(),
        Some(vec!["default".into()]),
    ));
    let client = client.guarded(guard.clone());
    let reads = || Access::from(AccessRule::of::<ConfigMap>(["get", "list", "watch"]));
    let passes = async |namespace: &str| {
        let maps = Api::<ConfigMap>::namespaced(&client, namespace);
        maps.get("web").await.is_ok()
    };
    assert!(!passes("default").await);
    let (first, second) = (guard.grant(reads()), guard.grant(reads()));
    assert!(passes("default").await && !passes("elsewhere").await);
    drop(first);
    assert!(passes("default").await);
    drop(second);
    assert!(!passes("default").await);
    assert_eq!(sent.load(Ordering::Relaxed), 2);
    assert!(guard.access().is_empty() && guard.unused().is_empty());
}
