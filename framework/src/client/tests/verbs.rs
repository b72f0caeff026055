//! Each verb: method, path, query, headers and body of the request, and how the answer is read. The clock is paused,
//! and only the test's own service answers.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt;
use http::{Request, Response};
use http_body_util::BodyExt;
use k8s_openapi::api::{
    apps::v1::Deployment,
    authentication::v1::TokenRequest,
    core::v1::{Binding, ConfigMap, Node, Pod, ServiceAccount},
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::{
    client::{
        Api, Backoff, Body, Client, DeleteParams, Error, ErrorKind, GetOrCreate, GetParams,
        ListParams, Patch, PatchParams, PostParams, WatchParams, retry_on_conflict,
    },
    resource::{ApiResource, DynamicObject, Object, PartialObject, Selector},
};

/// `Accept` of a request for whole objects, which the lines do not show.
const WHOLE: &str = "application/vnd.kubernetes.protobuf, application/json;q=0.9";

/// `METHOD path` of a request, and its body.
pub(super) type Sent = (String, String);

/// A client whose requests a function answers, and the requests it sent.
pub(super) fn client(
    answer: impl Fn(usize, &str) -> (u16, Value) + Send + Sync + 'static,
) -> (Client, Arc<Mutex<Vec<Sent>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let (log, answer) = (sent.clone(), Arc::new(answer));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (log, answer) = (log.clone(), answer.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let line = format!("{} {}", head.method, head.uri);
            let accept = head.headers["accept"].to_str().unwrap();
            let line = if ["application/json", WHOLE].contains(&accept) {
                line
            } else {
                format!("{line} {accept}")
            };
            let count = {
                let mut log = log.lock();
                log.push((line.clone(), String::from_utf8(body.to_vec()).unwrap()));
                log.len() - 1
            };
            let (code, body) = answer(count, &line);
            // Text stands for a body that is not JSON: a stream of events, or an error page.
            let (media_type, body) = match body {
                Value::String(text) if code >= 400 => ("text/plain", text),
                Value::String(text) => ("application/json", text),
                other => ("application/json", other.to_string()),
            };
            let answer = Response::builder()
                .status(code)
                .header("content-type", media_type);
            Ok::<_, Infallible>(answer.body(body).unwrap())
        }
    });
    (Client::from_service(service), sent)
}

pub(super) fn lines(sent: &Mutex<Vec<Sent>>) -> Vec<String> {
    let sent = sent.lock();
    sent.iter().map(|(line, _)| line.clone()).collect()
}

pub(super) fn map(version: &str) -> Value {
    json!({"metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": version}})
}

pub(super) fn status(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "reason": reason, "code": code, "message": reason,
        "details": {"name": "a", "kind": "configmaps"},
    });
    (code, status)
}

pub(super) fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

pub(super) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn subresources_send_the_method_and_path_of_the_api() {
    let (client, sent) = client(|_, line| match line {
        line if line.contains("/scale") => (200, json!({"kind": "Scale", "spec": {"replicas": 3}})),
        line if line.contains("/token") => (
            201,
            json!({"spec": {"audiences": []}, "status": {"token": "t", "expirationTimestamp": "2026-01-01T00:00:00Z"}}),
        ),
        line if line.contains("/eviction") || line.contains("/binding") => (
            201,
            json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
        ),
        line if line.contains("/nodes/") => (200, json!({"metadata": {"name": "a"}})),
        _ => (200, map("1")),
    });
    let pods = Api::<Pod>::namespaced(&client, "default");
    let deployments = Api::<Deployment>::namespaced(&client, "default");
    let (post, plain) = (PostParams::default(), PatchParams::default());
    let merge = Patch::Merge(json!({}));
    let delete = DeleteParams::background()
        .grace_period(Duration::from_secs(5))
        .dry_run();
    pods.evict("a", &delete).await.unwrap();
    pods.evict("a", &DeleteParams::default()).await.unwrap();
    pods.bind("a", &post, &Binding::default()).await.unwrap();
    pods.replace_ephemeral_containers("a", &post, &Pod::default())
        .await
        .unwrap();
    pods.patch_ephemeral_containers("a", &plain, &merge)
        .await
        .unwrap();
    pods.replace_resize("a", &post, &Pod::default())
        .await
        .unwrap();
    pods.patch_resize("a", &plain, &merge).await.unwrap();
    let scale = deployments.get_scale("a").await.unwrap();
    assert_eq!(scale.spec.as_ref().unwrap().replicas, Some(3));
    deployments.replace_scale("a", &post, &scale).await.unwrap();
    deployments.patch_scale("a", &plain, &merge).await.unwrap();
    let accounts = Api::<ServiceAccount>::namespaced(&client, "default");
    let token = accounts
        .create_token("a", &post, &TokenRequest::default())
        .await;
    assert_eq!(token.unwrap().status.unwrap().token.unwrap(), "t");
    Api::<Node>::all(&client).cordon("a").await.unwrap();
    assert_eq!(
        lines(&sent),
        [
            "POST /api/v1/namespaces/default/pods/a/eviction?dryRun=All",
            "POST /api/v1/namespaces/default/pods/a/eviction",
            "POST /api/v1/namespaces/default/pods/a/binding",
            "PUT /api/v1/namespaces/default/pods/a/ephemeralcontainers",
            "PATCH /api/v1/namespaces/default/pods/a/ephemeralcontainers",
            "PUT /api/v1/namespaces/default/pods/a/resize",
            "PATCH /api/v1/namespaces/default/pods/a/resize",
            "GET /apis/apps/v1/namespaces/default/deployments/a/scale",
            "PUT /apis/apps/v1/namespaces/default/deployments/a/scale",
            "PATCH /apis/apps/v1/namespaces/default/deployments/a/scale",
            "POST /api/v1/namespaces/default/serviceaccounts/a/token",
            "PATCH /api/v1/nodes/a",
        ]
    );
    let body = |at: usize| serde_json::from_str::<Value>(&sent.lock()[at].1).unwrap();
    assert_eq!(
        body(0),
        json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": "a", "namespace": "default"},
            "deleteOptions": {
                "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 5,
                "propagationPolicy": "Background", "dryRun": ["All"],
            },
        })
    );
    assert_eq!(body(1).get("deleteOptions"), None);
    assert_eq!(body(11), json!({"spec": {"unschedulable": true}}));
}

#[tokio::test]
async fn each_verb_can_request_metadata_only() {
    const ONE: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1;q=0.9, application/json;q=0.8";
    const MANY: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1;q=0.9, application/json;q=0.8";
    let (client, sent) = client(|_, line| match line {
        line if line.contains("List") => (200, json!({"items": [map("1")]})),
        line if line.contains("watch=true") => (
            200,
            format!("{}\n", json!({"type": "ADDED", "object": map("2")})).into(),
        ),
        // A server that knows only the whole form. The rest is skipped.
        _ => (
            200,
            json!({"kind": "ConfigMap", "data": {"a": 1}, "metadata": {"name": "a"}}),
        ),
    });
    let partial = maps(&client).metadata();
    assert_eq!(partial.get("a").await.unwrap().name(), "a");
    let list = partial.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items.len(), 1);
    let events = partial.watch(&WatchParams::default()).await.unwrap();
    assert_eq!(events.collect::<Vec<_>>().await.len(), 1);
    let merge = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    let plain = PatchParams::default();
    partial.patch("a", &plain, &merge).await.unwrap();
    partial.delete("a", &DeleteParams::default()).await.unwrap();
    let typed = Api::<PartialObject<ConfigMap>>::namespaced(&client, "default");
    typed.get("a").await.unwrap();
    let dynamic =
        Api::<PartialObject>::of(&client, ApiResource::of::<ConfigMap>(), Some("default"));
    dynamic.get("a").await.unwrap();
    assert_eq!(
        lines(&sent),
        [
            format!("GET {MAPS}/a {ONE}"),
            format!("GET {MAPS} {MANY}"),
            format!("GET {MAPS}?watch=true&allowWatchBookmarks=true {ONE}"),
            format!("PATCH {MAPS}/a {ONE}"),
            format!("DELETE {MAPS}/a {ONE}"),
            format!("GET {MAPS}/a {ONE}"),
            format!("GET {MAPS}/a {ONE}"),
        ]
    );
    let object = PartialObject::<ConfigMap>::named("a");
    for refused in [
        partial.create(&PostParams::default(), &object).await,
        partial.replace("a", &PostParams::default(), &object).await,
    ] {
        let text = refused.unwrap_err().to_string();
        assert!(
            text.ends_with("the type holds only a part of the object, as `PartialObject` does, and the rest would be lost: use `patch`, or the kind's own type"),
            "{text}"
        );
    }
    assert_eq!(lines(&sent).len(), 7);
}

#[tokio::test]
async fn invalid_requests_are_refused_with_verb_and_object() {
    let (client, sent) = client(|_, _| (200, json!({})));
    let maps = maps(&client);
    let log = Api::<DynamicObject>::of(&client, ApiResource::of::<ConfigMap>(), None);
    let list = ListParams::default;
    let ignoring =
        DeleteParams::default().ignore_store_read_error_with_cluster_breaking_potential();
    let long = PostParams::default().field_manager("m".repeat(129));
    let labels = Selector::default().eq("app", "web,tier=x");
    for (error, text) in [
        (
            maps.list(&list().labels("app in (a")).await.err(),
            "list configmaps in default: label selector `app in (a`: expected `,` or `)`, found the end",
        ),
        (
            maps.watch(&WatchParams::default().labels(labels))
                .await
                .err(),
            "watch configmaps in default: label selector `app=\"web,tier=x\"`: the value `\"web` of `app` must consist of letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
        ),
        (
            maps.watch(&WatchParams::default().fields("a")).await.err(),
            "watch configmaps in default: field selector `a`: `a` is not of the form `field=value` or `field!=value`",
        ),
        (
            maps.list_all(&list().exactly("0")).await.err(),
            "list configmaps in default: resource version \"0\" means any version, which none can be exactly: use `any_version`",
        ),
        (
            maps.delete("a", &ignoring.clone().dry_run()).await.err(),
            "delete ConfigMap default/a: an object that cannot be read is deleted without any other option",
        ),
        (
            maps.delete_collection(&ignoring, &list()).await.err(),
            "deletecollection configmaps in default: an object that cannot be read is deleted alone, by its name",
        ),
        (
            log.delete_collection(&DeleteParams::default(), &list())
                .await
                .err(),
            "deletecollection configmaps in all namespaces: ConfigMap is namespaced and no namespace is given: use `Api::namespaced`",
        ),
        (
            maps.create(&long, &ConfigMap::named("a")).await.err(),
            "create ConfigMap default/a: the field manager must have at most 128 characters",
        ),
        (
            maps.patch(
                "a",
                &PatchParams::default().force(),
                &Patch::Merge(json!({})),
            )
            .await
            .err(),
            "patch ConfigMap default/a: only a server-side apply can be forced",
        ),
        (
            maps.wait_until("a/b", |_| true).await.err(),
            "watch ConfigMap default/a/b: the name must not contain `/`",
        ),
        (
            maps.get_subresource::<Value>("a", "../status").await.err(),
            "get ConfigMap default/a/../status: the subresource must not contain `/`",
        ),
    ] {
        assert_eq!(error.unwrap().to_string(), text);
    }
    assert_eq!(lines(&sent), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn modify_repeats_the_change_on_the_newest_object_after_a_conflict() {
    let (client, sent) = client(|count, line| match line {
        line if line.starts_with("GET") => (200, map(&count.to_string())),
        _ if count < 4 => status(409, "Conflict"),
        _ => (200, map("9")),
    });
    let maps = maps(&client);
    let mut seen = Vec::new();
    maps.modify("a", &PostParams::default(), |map| {
        seen.push(map.resource_version().unwrap().to_owned());
        map.data
            .get_or_insert_default()
            .insert("k".into(), "v".into());
    })
    .await
    .unwrap();
    assert_eq!(seen, ["0", "2", "4"]);
    let bodies: Vec<Value> = sent.lock()[1..]
        .iter()
        .step_by(2)
        .map(|(_, body)| serde_json::from_str(body).unwrap())
        .collect();
    for (body, version) in bodies.iter().zip(&seen) {
        assert_eq!(body["data"], json!({"k": "v"}));
        assert_eq!(body["metadata"]["resourceVersion"], **version);
    }
}

#[tokio::test(start_paused = true)]
async fn modify_returns_conflicts_after_five_attempts_and_other_errors_at_once() {
    let (client, sent) = client(|_, line| match line {
        line if line.starts_with("GET") => (200, map("1")),
        _ => status(409, "Conflict"),
    });
    let error = maps(&client)
        .modify_status("a", &PostParams::default(), |_| {})
        .await;
    assert_eq!(
        error.unwrap_err().to_string(),
        "update ConfigMap default/a/status: Conflict"
    );
    let status_of_a = [
        format!("GET {MAPS}/a/status"),
        format!("PUT {MAPS}/a/status"),
    ];
    let sent = lines(&sent);
    assert_eq!(sent.len(), 10);
    assert!(sent.chunks(2).all(|attempt| attempt == status_of_a));

    let attempts = AtomicUsize::new(0);
    let outcome: Result<(), Error> = retry_on_conflict(&Backoff::contended(), async || {
        let forbidden = attempts.fetch_add(1, Ordering::SeqCst) == 1;
        let (_, answer) = if forbidden {
            status(403, "Forbidden")
        } else {
            status(409, "Conflict")
        };
        Err(Error::api(
            "update",
            "ConfigMap default/a",
            serde_json::from_value(answer).unwrap(),
        ))
    })
    .await;
    assert!(outcome.unwrap_err().is_forbidden());
    assert_eq!(attempts.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_first_caller_creates_and_the_others_find_the_object() {
    let wanted = ConfigMap::named("a");
    let post = PostParams::default();
    let (here, _) = client(|_, _| (200, map("1")));
    let found = maps(&here).get_or_create(&post, &wanted).await.unwrap();
    assert!(matches!(found, GetOrCreate::Found(_)));
    let (nowhere, _) = client(|count, _| match count {
        0 => status(404, "NotFound"),
        _ => (201, map("1")),
    });
    let created = maps(&nowhere).get_or_create(&post, &wanted).await.unwrap();
    assert!(matches!(created, GetOrCreate::Created(_)));
    let (raced, sent) = client(|count, _| match count {
        0 => status(404, "NotFound"),
        1 => status(409, "AlreadyExists"),
        _ => (200, map("7")),
    });
    let found = maps(&raced).get_or_create(&post, &wanted).await.unwrap();
    assert_eq!(found.into_object().resource_version(), Some("7"));
    assert_eq!(lines(&sent).len(), 3);
}

#[tokio::test]
async fn a_kind_that_is_not_served_never_counts_as_a_missing_object() {
    let page = || (404, "404 page not found\n".into());
    let bare = || {
        let status = json!({"kind": "Status", "reason": "NotFound", "code": 404, "message": "none", "details": {}});
        (404, status)
    };
    let [page, bare] = [client(move |_, _| page()), client(move |_, _| bare())];
    let wanted = ConfigMap::named("a");
    for (client, sent) in [page, bare] {
        let maps = maps(&client);
        let text = maps.get_opt("a").await.unwrap_err().to_string();
        assert!(
            text.starts_with("get ConfigMap default/a: ") && text.ends_with(
                ": the server does not serve configmaps/v1: check group and version, or install its definition"
            ),
            "{text}"
        );
        let outcome = maps.get_or_create(&PostParams::default(), &wanted).await;
        assert!(outcome.unwrap_err().is_not_served());
        assert_eq!(lines(&sent).len(), 2);
    }
    let (client, _) = client(|_, _| status(404, "NotFound"));
    assert_eq!(maps(&client).get_opt("a").await.unwrap(), None);
}

#[tokio::test]
async fn a_listed_object_of_any_kind_can_be_written_back() {
    let (client, sent) = client(|count, _| match count {
        0 => (200, json!({"kind": "ConfigMapList", "items": [map("1")]})),
        _ => (201, map("1")),
    });
    let dynamic =
        Api::<DynamicObject>::of(&client, ApiResource::of::<ConfigMap>(), Some("default"));
    for object in dynamic.list(&ListParams::default()).await.unwrap() {
        dynamic
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
    }
    let (_, body) = sent.lock()[1].clone();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!([&body["apiVersion"], &body["kind"]], ["v1", "ConfigMap"]);
}

#[tokio::test]
async fn a_get_sends_its_resource_version() {
    let (client, sent) = client(|_, _| (200, map("1")));
    let maps = maps(&client);
    maps.get_with("a", &GetParams::default().any_version())
        .await
        .unwrap();
    maps.get_with("a", &GetParams::default().at("7"))
        .await
        .unwrap();
    assert_eq!(
        lines(&sent),
        [
            format!("GET {MAPS}/a?resourceVersion=0"),
            format!("GET {MAPS}/a?resourceVersion=7"),
        ]
    );
}

#[tokio::test]
async fn an_answer_about_another_object_is_an_error_of_each_verb() {
    let answers = [
        (200, json!({"apiVersion": "v1", "kind": "Status"})),
        (200, json!({})),
        (200, json!({"metadata": {"name": "b"}})),
        (
            200,
            json!({"metadata": {"name": "a", "namespace": "other"}}),
        ),
    ];
    for (code, answer) in answers {
        let (client, _) = client(move |_, _| (code, answer.clone()));
        let maps = maps(&client);
        let patch = Patch::Merge(json!({}));
        let errors = [
            maps.metadata().get_opt("a").await.map(|_| ()),
            maps.metadata()
                .patch("a", &PatchParams::default(), &patch)
                .await
                .map(|_| ()),
            maps.create(&PostParams::default(), &ConfigMap::named("a"))
                .await
                .map(|_| ()),
        ];
        for error in errors {
            let error = error.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Decode { .. }), "{error}");
        }
    }
}

#[tokio::test]
async fn a_404_about_another_object_is_an_error_of_the_read() {
    let (client, _) = client(|_, _| status(404, "NotFound"));
    let maps = maps(&client);
    assert_eq!(maps.get_opt("a").await.unwrap(), None);
    assert!(maps.get_opt("b").await.is_err());
    let error = maps.delete("b", &DeleteParams::default()).await;
    assert!(!error.unwrap_err().is_not_found());
}
