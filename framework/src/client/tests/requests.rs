//! Requests that no typed verb covers: what is sent, what is refused before that, and how the answer is read.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use futures_util::{StreamExt, TryStreamExt};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::{
    apps::v1::Deployment,
    autoscaling::v1::Scale,
    core::v1::{ConfigMap, Node},
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::verbs;
use crate::{
    client::{
        AccessGuard, Body, BoxError, Client, Error, ErrorKind, Patch, RequestBuilder,
        request::RequestClass,
    },
    resource::{AccessRule, ApiResource},
};

/// What a request looks like to the server: a line for the request, one for each header that the builder sets, the body.
type Sent = Arc<Mutex<Vec<String>>>;

/// A client whose server answers with what a function returns: status, media type, body.
fn client(
    answer: impl Fn(&str) -> (u16, &'static str, Vec<u8>) + Send + Sync + 'static,
) -> (Client, Sent) {
    let sent = Sent::default();
    let (log, answer) = (sent.clone(), Arc::new(answer));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (log, answer) = (log.clone(), answer.clone());
        async move {
            let (head, body) = request.into_parts();
            let class = *head.extensions.get::<RequestClass>().unwrap();
            let mut text = format!("{class:?} {} {}", head.method, head.uri);
            for name in ["accept", "content-type", "x-own"] {
                if let Some(value) = head.headers.get(name) {
                    text += &format!("\n{name}: {}", value.to_str().unwrap());
                }
            }
            let body = body.collect().await.unwrap().to_bytes();
            if !body.is_empty() {
                text += &format!("\n{}", String::from_utf8_lossy(&body));
            }
            log.lock().push(text);
            let (code, media_type, body) = answer(&head.uri.to_string());
            let answer = Response::builder().status(code);
            let answer = answer.header("content-type", media_type);
            Ok::<_, Infallible>(answer.body(Body::from(body)).unwrap())
        }
    });
    (Client::from_service(service), sent)
}

fn ok() -> (Client, Sent) {
    client(|_| (200, "application/json", b"{}".to_vec()))
}

const ACCEPT: &str = "accept: application/json, */*";

#[tokio::test]
async fn a_request_is_sent_with_its_method_path_query_headers_and_body() {
    let (client, sent) = ok();
    let deployments = ApiResource::of::<Deployment>();
    let nodes = ApiResource::of::<Node>();
    let web = |verb: &str| {
        let request = client.request(verb).resource(&deployments);
        request.namespace("default").name("web")
    };
    let all = |verb: &str| client.request(verb).resource(&deployments);
    let merge = Patch::Merge(json!({"a": 1}));
    let requests: Vec<(RequestBuilder, String)> = vec![
        (
            web("get"),
            format!("GET /apis/apps/v1/namespaces/default/deployments/web\n{ACCEPT}"),
        ),
        (
            web("update").subresource("scale").body(&json!({"x": 2})),
            format!(
                "PUT /apis/apps/v1/namespaces/default/deployments/web/scale\n{ACCEPT}\ncontent-type: application/json\n{{\"x\":2}}"
            ),
        ),
        (
            web("patch").patch(&merge).query("fieldManager", "me & you"),
            format!(
                "PATCH /apis/apps/v1/namespaces/default/deployments/web?fieldManager=me%20%26%20you\n{ACCEPT}\ncontent-type: application/merge-patch+json\n{{\"a\":1}}"
            ),
        ),
        (
            web("patch").body_bytes("application/apply-patch+yaml", "a: 1"),
            format!(
                "PATCH /apis/apps/v1/namespaces/default/deployments/web\n{ACCEPT}\ncontent-type: application/apply-patch+yaml\na: 1"
            ),
        ),
        (
            web("delete").body(&json!({"propagationPolicy": "Orphan"})),
            format!(
                "DELETE /apis/apps/v1/namespaces/default/deployments/web\n{ACCEPT}\ncontent-type: application/json\n{{\"propagationPolicy\":\"Orphan\"}}"
            ),
        ),
        (
            all("list")
                .query("limit", 2)
                .query("a", true)
                .query("a", "x"),
            format!("GET /apis/apps/v1/deployments?limit=2&a=true&a=x\n{ACCEPT}"),
        ),
        (
            all("deletecollection").namespace("default"),
            format!("DELETE /apis/apps/v1/namespaces/default/deployments\n{ACCEPT}"),
        ),
        (
            all("create").namespace("default").body(&json!({})),
            format!(
                "POST /apis/apps/v1/namespaces/default/deployments\n{ACCEPT}\ncontent-type: application/json\n{{}}"
            ),
        ),
        (
            client.request("get").resource(&nodes).name("system:a b"),
            format!("GET /api/v1/nodes/system:a%20b\n{ACCEPT}"),
        ),
        (
            client.request("get").path("/readyz").query("verbose", "1"),
            format!("GET /readyz?verbose=1\n{ACCEPT}"),
        ),
        (
            client.request("head").path("/livez"),
            format!("HEAD /livez\n{ACCEPT}"),
        ),
        (
            web("get")
                .header("Accept", "text/plain")
                .header("X-Own", "a"),
            "GET /apis/apps/v1/namespaces/default/deployments/web\naccept: text/plain\nx-own: a"
                .to_owned(),
        ),
    ];
    for (request, expected) in requests {
        request.send().await.unwrap();
        assert_eq!(sent.lock().pop().unwrap(), format!("Request {expected}"));
    }
    all("watch")
        .query("timeoutSeconds", 5)
        .stream()
        .await
        .unwrap();
    assert_eq!(
        sent.lock().pop().unwrap(),
        format!("Watch GET /apis/apps/v1/deployments?watch=true&timeoutSeconds=5\n{ACCEPT}")
    );
}

#[tokio::test]
async fn a_wrong_part_is_an_error_before_anything_is_sent() {
    let (client, sent) = ok();
    let deployments = ApiResource::of::<Deployment>();
    let nodes = ApiResource::of::<Node>();
    let web = |verb: &str| {
        let request = client.request(verb).resource(&deployments);
        request.namespace("default").name("web")
    };
    let all = |verb: &str| client.request(verb).resource(&deployments);
    let bad_key = std::collections::BTreeMap::from([(vec![1], 2)]);
    let table = [
        (
            client.request("get"),
            "get a request: it has no subject: call `resource` or `path`",
        ),
        (
            web("get").path("/version"),
            "get a request: it has a resource and a path: leave out one of them",
        ),
        (
            client.request("get").path("/api").name("web"),
            "get a request: a path is complete: leave out `namespace`, `name` and `subresource`, or call `resource` in place of `path`",
        ),
        (
            web("GET"),
            "send Deployment default/web: `GET` is not a verb of a resource: use one of get, list, watch, create, update, patch, delete, deletecollection",
        ),
        (
            client.request("create").path("/api"),
            "send /api: `create` is not a verb of a path: use one of get, post, put, patch, delete, head, options",
        ),
        (
            web("get").name(""),
            "get Deployment default/: the name must not be empty",
        ),
        (
            web("get").name("a/b"),
            "get Deployment default/a/b: the name must not contain `/`",
        ),
        (
            web("get").namespace(".."),
            "get Deployment ../web: the namespace must not be `.` or `..`",
        ),
        (
            web("get").subresource("log/x"),
            "get Deployment default/web/log/x: the subresource must not contain `/`",
        ),
        (
            web("get").body(&1),
            "get Deployment default/web: `get` has no body: leave out the body",
        ),
        (
            all("get").namespace("default"),
            "get deployments.apps in default: `get` is about one object: call `name`",
        ),
        (
            all("get").name("web"),
            "get Deployment web: Deployment is namespaced: call `namespace`",
        ),
        (
            client
                .request("get")
                .resource(&nodes)
                .namespace("a")
                .name("b"),
            "get Node a/b: Node is cluster-scoped: leave out `namespace`",
        ),
        (
            web("create").body(&1),
            "create Deployment default/web: the name of a new object is in its body: leave out `name`",
        ),
        (
            all("create")
                .namespace("default")
                .subresource("scale")
                .body(&1),
            "create deployments.apps in default/scale: a subresource belongs to one object: call `name`",
        ),
        (
            web("list"),
            "list Deployment default/web: `list` is about several objects: leave out `name`, or select one object by `.query(\"fieldSelector\", \"metadata.name=…\")`",
        ),
        (
            all("watch").subresource("scale"),
            "watch deployments.apps in all namespaces/scale: `watch` has no subresources: leave out `subresource`",
        ),
        (
            all("watch"),
            "watch deployments.apps in all namespaces: a watch has no end: call `stream` in place of `send`",
        ),
        (
            web("patch"),
            "patch Deployment default/web: a patch has a body: call `patch`",
        ),
        (
            web("patch").body(&json!({})),
            "patch Deployment default/web: the form of the patch is not known: call `patch` in place of `body`",
        ),
        (
            web("update").patch(&Patch::Merge(json!({}))),
            "update Deployment default/web: `update` does not take a patch: call `body`, or use the verb `patch`",
        ),
        (
            web("update").body(&bad_key),
            "update Deployment default/web: the body cannot be written: check its map keys and its own `Serialize`",
        ),
        (
            web("get").query("", "a"),
            "get Deployment default/web: a query parameter has no name",
        ),
        (
            web("get").header("a b", "c"),
            "get Deployment default/web: `a b` is not the name of a header",
        ),
        (
            web("get").header("authorization", "hunter2\n"),
            "get Deployment default/web: the value of the header `authorization` has a line end or another control character",
        ),
        (
            client.request("get").path("version"),
            "get version: the path must begin with `/`",
        ),
        (
            client.request("get").path("/readyz?verbose"),
            "get /readyz?verbose: the path must not contain `?` or `#`: call `query` for each parameter",
        ),
        (
            client.request("get").path("/api/v1/namespaces/a/%2e%2E/b"),
            "get /api/v1/namespaces/a/%2e%2E/b: the path must not contain `.` or `..` as a segment",
        ),
        (
            client.request("get").path("/a b"),
            "get /a b: the path must be escaped: it contains a space or another character that a URL cannot hold",
        ),
    ];
    for (request, expected) in table {
        let error = request.send().await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(matches!(error.kind(), ErrorKind::Invalid { .. }), "{error}");
    }
    assert!(sent.lock().is_empty());
}

#[tokio::test]
async fn an_answer_is_decoded_when_it_is_asked_for() {
    let (client, _) = client(|uri| match uri {
        "/readyz" => (200, "text/plain", b"ok".to_vec()),
        "/bytes" => (200, "application/octet-stream", vec![0xff]),
        _ => {
            let scale = r#"{"kind":"Scale","apiVersion":"autoscaling/v1","spec":{"replicas":3}}"#;
            (201, "application/json", scale.into())
        }
    });
    let deployments = ApiResource::of::<Deployment>();
    let request = client.request("get").resource(&deployments);
    let request = request
        .namespace("default")
        .name("web")
        .subresource("scale");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 201);
    assert_eq!(answer.headers()["content-type"], "application/json");
    assert_eq!(answer.bytes().len(), answer.text().unwrap().len());
    let scale: Scale = answer.decode().unwrap();
    assert_eq!(scale.spec.unwrap().replicas, Some(3));
    assert_eq!(answer.decode::<Value>().unwrap()["kind"], "Scale");
    assert_eq!(
        answer.decode::<u8>().unwrap_err().to_string(),
        "get Deployment default/web/scale: the answer cannot be decoded: expected u8, found an object"
    );
    assert_eq!(format!("{answer:?}"), "Answer(201, 68 bytes)");

    let answer = client.request("get").path("/readyz").send().await.unwrap();
    assert_eq!(answer.text().unwrap(), "ok");
    assert_eq!(
        answer.decode::<Value>().unwrap_err().to_string(),
        "get /readyz: the answer cannot be decoded: it is text/plain, not JSON: read it with `text` or `bytes`"
    );
    let answer = client.request("get").path("/bytes").send().await.unwrap();
    assert_eq!(answer.bytes()[..], [0xff]);
    assert!(answer.text().is_err());
}

#[tokio::test]
async fn an_answer_is_decoded_into_a_map_with_keys_of_any_type() {
    #[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
    enum Size {
        Small,
    }
    let (client, _) = client(|_| (200, "application/json", br#"{"Small":["Small"]}"#.to_vec()));
    let answer = client.request("get").path("/sizes").send().await.unwrap();
    let sizes: BTreeMap<Size, Vec<Size>> = answer.decode().unwrap();
    assert_eq!(sizes, [(Size::Small, vec![Size::Small])].into());
}

#[tokio::test]
async fn an_answer_about_another_object_is_not_decoded() {
    let (client, _) = client(|_| {
        let other = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "b"}});
        (200, "application/json", other.to_string().into())
    });
    let maps = ApiResource::of::<ConfigMap>();
    let request = client
        .request("get")
        .resource(&maps)
        .namespace("default")
        .name("a");
    let answer = request.clone().send().await.unwrap();
    assert_eq!(
        answer.decode::<ConfigMap>().unwrap_err().to_string(),
        "get ConfigMap default/a: the answer cannot be decoded: metadata.name: expected `a`, found `b`"
    );
    // A caller that asks for another form of the answer reads what comes.
    let table = request.header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    table.send().await.unwrap().decode::<Value>().unwrap();
}

#[tokio::test]
async fn an_error_answer_is_an_error_with_the_hints_of_typed_requests() {
    let (client, _) = verbs::client(|_, line| match line {
        line if line.contains("/gone") => verbs::status(404, "NotFound"),
        _ => (404, json!("404 page not found")),
    });
    let maps = ApiResource::of::<ConfigMap>();
    let get = |name: &str| {
        let request = client.request("get").resource(&maps);
        request.namespace("default").name(name).send()
    };
    // The 404 is about `a`.
    assert!(!get("gone").await.unwrap_err().is_not_found());
    let error = get("a").await.unwrap_err();
    assert!(error.is_not_served(), "{error}");
    assert!(
        error
            .hint()
            .unwrap()
            .contains("does not serve configmaps/v1"),
        "{error}"
    );
    let error = client
        .request("get")
        .path("/gone")
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "get /gone: not found: NotFound");
}

#[tokio::test]
async fn a_guard_judges_the_request_and_the_error_names_the_verb() {
    let (client, sent) = ok();
    let access = AccessRule::of::<ConfigMap>(["get"]);
    let client = client.guarded(Arc::new(AccessGuard::new(&access.into(), None)));
    let maps = ApiResource::of::<ConfigMap>();
    let one = |verb: &str| {
        client
            .request(verb)
            .resource(&maps)
            .namespace("default")
            .name("a")
    };
    one("get").send().await.unwrap();
    assert_eq!(
        one("delete").send().await.unwrap_err().to_string(),
        "delete ConfigMap default/a: not declared: add `.deletes::<ConfigMap>()` to wire"
    );
    let path = client
        .request("delete")
        .path("/api/v1/namespaces/default/configmaps/a");
    assert!(path.send().await.unwrap_err().is_not_declared());
    assert_eq!(sent.lock().len(), 1);
}

/// A client whose answer comes in these pieces.
fn pieces(pieces: Vec<Result<&'static str, &'static str>>) -> Client {
    Client::from_service(tower::service_fn(move |_: Request<Body>| {
        let pieces = pieces.clone().into_iter();
        let frames = pieces.map(|piece| match piece {
            Ok(text) => Ok::<_, BoxError>(Frame::data(text.into())),
            Err(error) => Err(error.into()),
        });
        let body = StreamBody::new(futures_util::stream::iter(frames));
        std::future::ready(Ok::<_, Infallible>(Response::new(body)))
    }))
}

#[tokio::test]
async fn a_stream_returns_the_pieces_as_they_come_or_line_by_line() {
    let client = pieces(vec![Ok("one\ntw"), Ok("o\n\nthree")]);
    let request = client.request("get").path("/log");
    let stream = request.clone().stream().await.unwrap();
    let found: Vec<_> = stream.try_collect().await.unwrap();
    assert_eq!(found, ["one\ntw", "o\n\nthree"]);
    let lines: Vec<_> = request
        .stream()
        .await
        .unwrap()
        .lines()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(lines, ["one", "two", "three"]);
}

#[tokio::test]
async fn the_error_of_a_broken_stream_is_its_last_item() {
    let client = pieces(vec![Ok("one\ntw"), Err("broken")]);
    let request = client.request("get").path("/log");
    let end = |found: Vec<Result<_, Error>>| {
        let (last, before) = found.split_last().unwrap();
        (before.len(), last.as_ref().unwrap_err().to_string())
    };
    let text = "get /log: the connection to the API server broke: broken";
    let stream = request.clone().stream().await.unwrap();
    assert_eq!(end(stream.collect().await), (1, text.to_owned()));
    let lines = request.stream().await.unwrap().lines();
    assert_eq!(end(lines.collect().await), (1, text.to_owned()));
}

#[tokio::test]
async fn no_debug_form_shows_query_headers_or_body() {
    let (client, _) = ok();
    let maps = ApiResource::of::<ConfigMap>();
    let request = client
        .request("create")
        .resource(&maps)
        .namespace("default");
    let request = request
        .query("a", "hunter2")
        .header("x-own", "hunter2")
        .body("hunter2");
    assert_eq!(
        format!("{request:?}"),
        "RequestBuilder(create configmaps in default)"
    );
    let stream = client
        .request("get")
        .path("/log")
        .query("a", "hunter2")
        .stream();
    assert_eq!(
        format!("{:?}", stream.await.unwrap()),
        "AnswerStream(get /log)"
    );
}

#[tokio::test]
async fn a_secret_that_the_server_repeats_as_its_media_type_is_not_in_the_error() {
    let (client, _) = client(|_| (200, "application/secret-of-the-caller", Vec::new()));
    let request = client.request("get").path("/x");
    let request = request.header("authorization", "Bearer secret-of-the-caller");
    let error = request.send().await.unwrap().decode::<Value>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "get /x: the answer cannot be decoded: it is application/<redacted>, not JSON: read it with `text` or `bytes`"
    );
}
