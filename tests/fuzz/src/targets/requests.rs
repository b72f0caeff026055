//! Sends requests with any method, path, query and format to the sandbox. Checks that each gets an answer, and that
//! created objects exist.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use pilothouse_sandbox::Sandbox;
use serde_json::Value;

use crate::input;

/// The number of requests per input. More requests would not find more.
const MOST: usize = 8;

/// An answer that is not complete after this time is a watch.
const WATCH: Duration = Duration::from_millis(50);

pub(crate) fn run(data: &[u8]) {
    if input::depth(data) > 40 {
        return;
    }
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // On a paused clock a watch costs no time.
    let runtime = builder.enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let sandbox = Sandbox::builder().seed(1).cbor(true).request_log(1).build();
        let sandbox = sandbox.expect("a sandbox");
        for part in input::all_parts(data).take(MOST) {
            if let Some(request) = request(part) {
                one(&sandbox, request).await;
            }
        }
        sandbox.shutdown().await;
    });
}

/// Parses a request. The first byte is the method; then follow path, `Accept`, `Content-Type` and the body, each on a line.
fn request(part: &[u8]) -> Option<Request<Full<Bytes>>> {
    let (method, rest) = input::choice(part);
    let method = match method % 8 {
        0 | 6 => Method::GET,
        1 | 7 => Method::POST,
        2 => Method::PUT,
        3 => Method::PATCH,
        4 => Method::DELETE,
        _ => Method::OPTIONS,
    };
    let mut lines = rest.splitn(4, |byte| *byte == b'\n');
    let path = str::from_utf8(lines.next()?).ok()?;
    if !path.starts_with('/') {
        return None;
    }
    let mut request = Request::builder().method(method).uri(path);
    request = request.header(header::HOST, "sandbox");
    for name in [header::ACCEPT, header::CONTENT_TYPE] {
        if let Some(value) = lines.next().filter(|value| !value.is_empty()) {
            request = request.header(name, value);
        }
    }
    let body = Bytes::copy_from_slice(lines.next().unwrap_or_default());
    request.body(Full::new(body)).ok()
}

async fn one(sandbox: &Sandbox, request: Request<Full<Bytes>>) {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let (status, body) = answer(sandbox, request).await;
    let Some(body) = body else {
        return;
    };
    let value = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    if status.is_client_error() || status.is_server_error() {
        if value["kind"] == "Status" {
            assert_eq!(value["code"], status.as_u16(), "{value}");
            assert!(
                value["message"].as_str().is_some_and(|it| !it.is_empty()),
                "{value}"
            );
        }
        return;
    }
    let is_dry = uri
        .query()
        .is_some_and(|query| query.to_ascii_lowercase().contains("dry"));
    let path = uri.path();
    // Reviews and subresources are not stored objects.
    let is_plain = path.matches('/').count() <= 6 && !path.contains("review");
    let name = value.pointer("/metadata/name").and_then(Value::as_str);
    let version = value
        .pointer("/metadata/resourceVersion")
        .and_then(Value::as_str);
    if let (true, Some(name), Some(_), false, true) = (
        method == Method::POST && status == StatusCode::CREATED,
        name,
        version,
        is_dry,
        is_plain,
    ) {
        let path = format!("{}/{name}", path.trim_end_matches('/'));
        let request = Request::get(&path).header(header::HOST, "sandbox");
        let request = request
            .body(Full::default())
            .expect("the path of an object");
        let (status, body) = answer(sandbox, request).await;
        assert_eq!(status, StatusCode::OK, "{path} was created");
        let Some(body) = body else {
            return;
        };
        let found: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(found["metadata"]["uid"], value["metadata"]["uid"], "{path}");
    }
}

/// Returns the code and the body of an answer. A watch has no complete body.
async fn answer(sandbox: &Sandbox, request: Request<Full<Bytes>>) -> (StatusCode, Option<Bytes>) {
    let (mut sender, connection) = http1::handshake(TokioIo::new(sandbox.connect()))
        .await
        .expect("a connection");
    let connection = tokio::spawn(connection);
    let response: Response<Incoming> = sender.send_request(request).await.expect("an answer");
    let status = response.status();
    let collected = tokio::time::timeout(WATCH, response.into_body().collect()).await;
    connection.abort();
    let body = collected.ok().and_then(Result::ok);
    (status, body.map(|body| body.to_bytes()))
}
