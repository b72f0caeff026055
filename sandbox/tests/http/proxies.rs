//! The subresource `proxy` of Pods and Services: requests to the programs that a test lets its Pods listen with.

use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Answer, Client, request};

const PODS: &str = "/api/v1/namespaces/default/pods";
const SERVICES: &str = "/api/v1/namespaces/default/services";

/// A sandbox with the Pod `web`, which runs, and a Service for it. At port 8080 a program answers with what it was asked.
async fn cluster() -> Client {
    let sandbox = Sandbox::builder().seed(1).simulator(true).build().unwrap();
    sandbox.pods().port(8080, |stream| async move {
        let server = http1::Builder::new();
        let served = server.serve_connection(TokioIo::new(stream), service_fn(echo));
        let _ = served.await;
    });
    let client = Client::of(sandbox).await;
    let ports = json!([{"name": "http", "containerPort": 8080}]);
    let pod = json!({
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "one", "image": "one:1", "ports": ports}]},
    });
    // The service account comes first.
    tokio::time::sleep(Duration::from_secs(1)).await;
    client.post(PODS, &pod).await.object();
    let ports = json!([{"name": "http", "port": 80, "targetPort": "http"}, {"name": "other", "port": 81, "targetPort": 8081}]);
    let service =
        json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": ports}});
    client.post(SERVICES, &service).await.object();
    tokio::time::sleep(Duration::from_secs(3)).await;
    client
}

/// Answers with the method, the path, the headers and the body of a request. Some paths have another answer.
async fn echo(request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut answer = Response::builder().header("x-program", "echo");
    match head.uri.path() {
        "/moved" => answer = answer.status(302).header("location", "/login/"),
        "/missing" => answer = answer.status(404).header("cache-control", "max-age=1"),
        "/large" => return Ok(answer.body(vec![b'a'; 1_000_000].into()).unwrap()),
        _ => {}
    }
    let mut headers = json!({});
    for (name, value) in &head.headers {
        headers[name.as_str()] = String::from_utf8_lossy(value.as_bytes()).into();
    }
    let seen = json!({
        "method": head.method.as_str(), "uri": head.uri.to_string(), "headers": headers,
        "body": String::from_utf8_lossy(&body),
    });
    Ok(answer.body(seen.to_string().into()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_request_reaches_the_program_of_a_pod_and_its_answer_comes_back() {
    let client = cluster().await;
    let path = format!("{PODS}/web:8080/proxy/a%20b/../c!/?d=%2F&e");
    let mut sent = request("PUT", &path, "text/plain", "hello");
    let headers = sent.headers_mut();
    headers.insert("x-mine", "1".parse().unwrap());
    headers.insert("authorization", "Bearer secret".parse().unwrap());
    headers.insert("impersonate-user", "kubernetes-admin".parse().unwrap());
    headers.remove("authorization");
    let answer = client.send(sent).await;
    assert_eq!(answer.code, 200, "{}", answer.text);
    assert_eq!(answer.headers["x-program"], "echo");
    let seen = &answer.json;
    assert_eq!(
        (&seen["method"], &seen["body"]),
        (&json!("PUT"), &json!("hello"))
    );
    assert_eq!(seen["uri"], "/c%21/?d=%2F&e");
    let headers = &seen["headers"];
    assert_eq!(headers["x-mine"], "1");
    assert_eq!(headers["content-type"], "text/plain");
    assert_eq!(headers["host"], "sandbox");
    let whole = format!("{PODS}/web:8080/proxy/c%21/");
    assert_eq!(headers["x-forwarded-uri"], whole);
    assert!(headers.get("impersonate-user").is_none() && headers.get("authorization").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_request_reaches_the_program_of_a_service_by_number_and_by_name_of_its_port() {
    let client = cluster().await;
    for name in ["web:80", "web:http", "http:web:http"] {
        let answer = client.get(&format!("{SERVICES}/{name}/proxy/x")).await;
        assert_eq!(answer.json["uri"], "/x", "{name}: {}", answer.text);
    }
    for (name, why) in [
        ("web", "no endpoints available for service \"web\""),
        ("web:82", "no service port 82 found for service \"web\""),
    ] {
        let answer = client.get(&format!("{SERVICES}/{name}/proxy/x")).await;
        assert_eq!(answer.failure(), (503, "ServiceUnavailable", why));
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_the_headers_and_the_body_are_those_of_the_program() {
    let client = cluster().await;
    let missing = client.get(&format!("{PODS}/web/proxy/missing")).await;
    assert_eq!(
        (missing.code, &missing.json["method"]),
        (404, &json!("GET"))
    );
    let caching: Vec<_> = missing.headers.get_all("cache-control").iter().collect();
    assert_eq!(caching, ["no-cache, private", "max-age=1"]);
    let moved = client.get(&format!("{PODS}/web/proxy/moved")).await;
    assert_eq!(moved.code, 302);
    assert_eq!(
        moved.headers["location"],
        format!("{PODS}/web/proxy/login/")
    );
    // The server compresses only answers of its own.
    let mut large = request("GET", &format!("{PODS}/web/proxy/large"), "", "");
    large
        .headers_mut()
        .insert("accept-encoding", "gzip".parse().unwrap());
    let large = client.send(large).await;
    assert_eq!(
        (large.text.len(), large.headers.get("content-encoding")),
        (1_000_000, None)
    );
    let head = client
        .send(request("HEAD", &format!("{PODS}/web/proxy/large"), "", ""))
        .await;
    assert_eq!(head.headers["content-length"], "1000000");
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_path_is_led_to_the_root_of_the_program() {
    let client = cluster().await;
    let bare = format!("{PODS}/web/proxy");
    for method in ["GET", "HEAD"] {
        let answer = client
            .send(request(method, &format!("{bare}?a=b"), "", ""))
            .await;
        assert_eq!((answer.code, answer.text.as_str()), (301, ""));
        assert_eq!(answer.headers["location"], format!("{bare}/?a=b"));
    }
    let posted = client.send(request("POST", &bare, "text/plain", "x")).await;
    assert_eq!(
        (&posted.json["uri"], &posted.json["body"]),
        (&json!("/"), &json!("x"))
    );
    let root = client.get(&format!("{bare}/")).await;
    assert_eq!(root.json["uri"], "/");
}

fn trying(why: &str) -> String {
    format!("error trying to reach service: {why}")
}

#[tokio::test(start_paused = true)]
async fn a_port_where_nobody_listens_is_refused_with_the_text_of_a_real_server() {
    let client = cluster().await;
    let pod = client.get(&format!("{PODS}/web")).await.object();
    let address = pod["status"]["podIP"].as_str().unwrap();
    let refused = |port: u16| {
        trying(&format!(
            "dial tcp {address}:{port}: connect: connection refused"
        ))
    };
    for (path, why) in [
        (format!("{PODS}/web:9/proxy/"), refused(9)),
        (format!("{SERVICES}/web:81/proxy/"), refused(8081)),
        (
            format!("{PODS}/web:99999/proxy/"),
            trying("dial tcp: address 99999: invalid port"),
        ),
        (
            format!("{PODS}/web:http/proxy/"),
            trying(&format!("dial tcp: lookup {address}:http: no such host")),
        ),
    ] {
        let answer = client.get(&path).await;
        assert_eq!(
            answer.failure(),
            (503, "ServiceUnavailable", why.as_str()),
            "{path}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_that_does_not_answer_is_no_answer_of_the_server() {
    let client = cluster().await;
    client.sandbox.pods().port(1, |_| async {});
    client.sandbox.pods().port(2, |mut stream| async move {
        let mut some = [0; 16];
        let _ = stream.read(&mut some).await;
        let _ = stream.write_all(b"garbage\r\n\r\n").await;
    });
    let ended = client.get(&format!("{PODS}/web:1/proxy/")).await;
    assert_eq!(
        ended.failure(),
        (503, "ServiceUnavailable", trying("EOF").as_str())
    );
    let broken = client.get(&format!("{PODS}/web:2/proxy/")).await;
    let (code, _, message) = broken.failure();
    let text = trying("net/http: HTTP/1.x transport connection broken");
    assert!(code == 503 && message.starts_with(&text), "{message}");
}

#[tokio::test(start_paused = true)]
async fn what_the_proxy_does_not_have_is_named() {
    let client = cluster().await;
    let named = |answer: Answer, what: &str| {
        let (code, reason, message) = answer.failure();
        assert_eq!((code, reason), (501, "NotImplemented"));
        assert!(message.contains(what), "{message}");
    };
    let tls = client.get(&format!("{PODS}/https:web:8080/proxy/")).await;
    named(tls, "TLS through the subresource pods/proxy");
    let tls = client.get(&format!("{SERVICES}/https:web:80/proxy/")).await;
    named(tls, "TLS through the subresource services/proxy");
    let node = client.get("/api/v1/nodes/sandbox/proxy/pods").await;
    named(node, "the subresource nodes/proxy");
}

#[tokio::test(start_paused = true)]
async fn a_webhook_for_connections_sees_the_path() {
    let client = cluster().await;
    let url = "https://hook.example/";
    client
        .sandbox
        .webhook(url, |asked: Request<Bytes>| async move {
            let review: Value = serde_json::from_slice(asked.body()).unwrap();
            let object = &review["request"]["object"];
            let allowed = object["path"] != "/secret";
            let status = json!({"message": object.to_string()});
            let answer = json!({
                "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "response": {"uid": review["request"]["uid"], "allowed": allowed, "status": status},
            });
            Response::new(answer.to_string().into())
        });
    let hook = json!({
        "metadata": {"name": "hook"},
        "webhooks": [{
            "name": "hook.example.com", "clientConfig": {"url": url}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/proxy"], "operations": ["CONNECT"]}],
        }],
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    client.post(path, &hook).await.object();
    let denied = client.get(&format!("{PODS}/web/proxy/secret")).await;
    let (code, _, message) = denied.failure();
    assert_eq!(code, 400, "{message}");
    let shown: Value = serde_json::from_str(&message[message.find('{').unwrap()..]).unwrap();
    assert_eq!(
        shown,
        json!({"apiVersion": "v1", "kind": "PodProxyOptions", "path": "/secret"})
    );
    let open = client.get(&format!("{PODS}/web/proxy/open")).await;
    assert_eq!(open.code, 200);
}
