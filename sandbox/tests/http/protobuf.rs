//! Requests and responses in protobuf. That the bytes are those of a real server is the subject of other tests.

use http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::BodyExt;
use pilothouse_sandbox::internals::protobuf::{decode, encode};
use serde_json::{Value, json};

use crate::client::{Client, MAPS, NAMESPACES, request};
use crate::definitions::{self, SITES, site};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const EITHER: &str = "application/vnd.kubernetes.protobuf,application/json";

/// The code of a response, its content type, and its object.
type Response = (u16, String, Value);

async fn send(client: &Client, method: &str, path: &str, accept: &str, body: Vec<u8>) -> Response {
    let mut request = request(method, path, PROTOBUF, body);
    let headers = request.headers_mut();
    headers.insert(ACCEPT, accept.parse().unwrap());
    let (head, body) = client.open(request).await.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let content_type = head.headers[CONTENT_TYPE].to_str().unwrap().to_owned();
    let object = if content_type.starts_with(PROTOBUF) {
        decode(&body, ("", ""), |object| object).unwrap()
    } else {
        serde_json::from_slice(&body).unwrap_or_default()
    };
    (head.status.as_u16(), content_type, object)
}

async fn get(client: &Client, path: &str, accept: &str) -> Response {
    send(client, "GET", path, accept, Vec::new()).await
}

fn map(name: &str) -> Vec<u8> {
    encode(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})).unwrap()
}

#[tokio::test(start_paused = true)]
async fn objects_are_written_and_read_in_protobuf() {
    let client = Client::new().await;
    let (code, content_type, made) = send(&client, "POST", MAPS, EITHER, map("a")).await;
    assert_eq!((code, &*content_type), (201, PROTOBUF));
    let path = format!("{MAPS}/a");
    assert_eq!(client.get(&path).await.object(), made);
    assert_eq!(made["data"], json!({"a": "b"}));

    let mut changed = made.clone();
    changed["data"]["a"] = "c".into();
    let body = encode(&changed).unwrap();
    let (code, _, changed) = send(&client, "PUT", &path, PROTOBUF, body).await;
    assert_eq!((code, &changed["data"]["a"]), (200, &json!("c")));
    let (_, _, list) = get(&client, MAPS, PROTOBUF).await;
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(list["items"][0]["metadata"], changed["metadata"]);

    let stale =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "other"}});
    let (code, content_type, status) =
        send(&client, "DELETE", &path, EITHER, encode(&stale).unwrap()).await;
    assert_eq!((code, &*content_type), (409, PROTOBUF));
    assert_eq!(
        (&status["kind"], &status["code"]),
        (&json!("Status"), &json!(409))
    );
    let (code, _, status) = send(&client, "DELETE", &path, EITHER, Vec::new()).await;
    assert_eq!((code, &status["status"]), (200, &json!("Success")));
}

#[tokio::test(start_paused = true)]
async fn the_subresources_and_reviews_read_their_own_kinds() {
    let client = Client::new().await;
    let account = json!({"metadata": {"name": "a"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    client.post(accounts, &account).await.object();
    let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["x"], "expirationSeconds": 700}});
    let path = format!("{accounts}/a/token");
    let (code, _, token) = send(&client, "POST", &path, PROTOBUF, encode(&asked).unwrap()).await;
    assert_eq!((code, &token["spec"]["audiences"]), (201, &json!(["x"])));
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (code, _, review) = send(&client, "POST", path, PROTOBUF, encode(&review).unwrap()).await;
    assert_eq!((code, &review["status"]["allowed"]), (201, &json!(true)));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_not_protobuf_is_refused_with_the_texts_of_the_server() {
    let client = Client::new().await;
    let unrecognized = "the object provided is unrecognized (must be of type ConfigMap): ";
    let not_handled = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ";
    for (method, path, body, message) in [
        (
            "POST",
            MAPS,
            &b""[..],
            format!("{unrecognized}empty data (<empty>)"),
        ),
        (
            "POST",
            MAPS,
            b"{}",
            format!(
                "{unrecognized}provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({{}})"
            ),
        ),
        (
            "POST",
            MAPS,
            b"k8s\0\xff",
            format!("{unrecognized}unexpected EOF (6b387300ff)"),
        ),
        (
            "POST",
            MAPS,
            b"k8s\0\x12\x02\x08\x01",
            format!("{not_handled}proto: wrong wireType = 0 for field ObjectMeta"),
        ),
        (
            "DELETE",
            "/api/v1/namespaces/default/configmaps/a",
            b"k8s\0\xff",
            "unexpected EOF".into(),
        ),
    ] {
        let (code, _, status) = send(&client, method, path, "", body.to_vec()).await;
        assert_eq!((code, &status["message"]), (400, &json!(message)));
    }
    let secret = encode(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}));
    let (code, _, status) = send(&client, "POST", MAPS, "", secret.unwrap()).await;
    let message = "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion";
    assert_eq!((code, &status["message"]), (400, &json!(message)));
}

#[tokio::test(start_paused = true)]
async fn a_watch_sends_frames() {
    let client = Client::new().await;
    client.map("a", "b").await;
    let mut request = request(
        "GET",
        &format!("{MAPS}?watch=true&timeoutSeconds=1"),
        "",
        "",
    );
    let accept = "application/vnd.kubernetes.protobuf;stream=watch"
        .parse()
        .unwrap();
    request.headers_mut().insert(ACCEPT, accept);
    let response = client.open(request).await;
    assert_eq!(
        response.headers()[CONTENT_TYPE],
        "application/vnd.kubernetes.protobuf;stream=watch"
    );
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let (length, event) = body.split_first_chunk::<4>().unwrap();
    assert_eq!(u32::from_be_bytes(*length) as usize, event.len());
    // Field 1 is the type. Field 2 has the object in its field 1; all lengths have two bytes.
    let object = event.strip_prefix(b"\x0a\x05ADDED\x12").unwrap();
    let object = decode(&object[5..], ("", ""), |object| object).unwrap();
    assert_eq!(object["metadata"]["name"], "a");
}

#[tokio::test(start_paused = true)]
async fn custom_resources_have_only_metadata_in_protobuf() {
    let client = definitions::client().await;
    client
        .post(SITES, &site(json!({"host": "a"})))
        .await
        .object();
    let path = format!("{SITES}/a");
    assert_eq!(get(&client, &path, PROTOBUF).await.0, 406);
    let (code, content_type, _) = get(&client, &path, EITHER).await;
    assert_eq!((code, &*content_type), (200, "application/json"));
    let (code, content_type, _) = get(&client, &format!("{SITES}/none"), EITHER).await;
    assert_eq!((code, &*content_type), (404, PROTOBUF));
    let partial = format!("{PROTOBUF};as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
    let (_, content_type, object) = get(&client, &path, &partial).await;
    assert_eq!(
        (&*content_type, &object["metadata"]["name"]),
        (PROTOBUF, &json!("a"))
    );
    assert_eq!(send(&client, "POST", SITES, "", map("a")).await.0, 415);
}

#[tokio::test(start_paused = true)]
async fn discovery_has_a_form_in_protobuf() {
    let client = Client::new().await;
    for (path, kind) in [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/apis/apps", "APIGroup"),
        ("/apis/apps/v1", "APIResourceList"),
    ] {
        let (code, content_type, document) = get(&client, path, PROTOBUF).await;
        assert_eq!((code, &*content_type), (200, PROTOBUF), "{path}");
        assert_eq!(document["kind"], kind, "{path}");
    }
    let aggregated = format!("{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let (code, content_type, document) = get(&client, "/apis", &aggregated).await;
    assert_eq!((code, content_type), (200, aggregated));
    assert_eq!(
        document["items"][0]["metadata"]["name"],
        "apiregistration.k8s.io"
    );
    let (code, content_type, status) = get(&client, "/version", PROTOBUF).await;
    assert_eq!((code, &*content_type), (406, PROTOBUF), "{status}");
    assert_eq!(
        get(&client, &format!("{NAMESPACES}?limit=x"), PROTOBUF)
            .await
            .1,
        PROTOBUF
    );
}

#[tokio::test(start_paused = true)]
async fn deeply_nested_data_is_read_and_written() {
    const LEVELS: usize = 5000;
    let client = Client::new().await;
    let data = "[".repeat(LEVELS) + &"]".repeat(LEVELS);
    let body =
        format!(r#"{{"metadata": {{"name": "a"}}, "revision": 1, "data": {{"a": {data}}}}}"#);
    let path = "/apis/apps/v1/namespaces/default/controllerrevisions";
    let mut request = request("POST", path, "application/json", body);
    request
        .headers_mut()
        .insert(ACCEPT, PROTOBUF.parse().unwrap());
    let made = client.open(request).await;
    assert_eq!(made.status(), 201);
    let made = made.into_body().collect().await.unwrap().to_bytes();
    // The closure runs on a stack that is large enough for the value.
    let levels = decode(&made, ("", ""), |object| {
        object["data"]["a"].to_string().len() / 2
    });
    assert_eq!(levels, Ok(LEVELS));
    let again = send(&client, "POST", path, "", made.to_vec()).await;
    assert_eq!(
        again.2["message"],
        "resourceVersion should not be set on objects to be created"
    );
}
