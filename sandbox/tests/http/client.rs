//! A client that adds nothing to the request of the test.

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use pilothouse_sandbox::Sandbox;
use serde_json::{Value, json};

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
pub(crate) const NAMESPACES: &str = "/api/v1/namespaces";
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON: &str = "application/json-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// One HTTP/2 connection in memory.
pub(crate) struct Client {
    pub(crate) sandbox: Sandbox,
    connection: http2::SendRequest<Full<Bytes>>,
}

/// A response that was read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// Null if the text is not JSON.
    pub(crate) json: Value,
}

impl Answer {
    /// Code, reason and message of a failure.
    pub(crate) fn failure(&self) -> (u16, &str, &str) {
        let text = |field: &str| self.json[field].as_str().unwrap_or_default();
        (self.code, text("reason"), text("message"))
    }

    /// The object of a success.
    #[track_caller]
    pub(crate) fn object(self) -> Value {
        assert!(self.code < 300, "{} {}", self.code, self.text);
        self.json
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        let values = self.headers.get_all("warning").iter();
        values.map(|value| value.to_str().unwrap()).collect()
    }
}

impl Client {
    pub(crate) async fn new() -> Self {
        Self::of(Sandbox::builder().seed(1).build().unwrap()).await
    }

    pub(crate) async fn of(sandbox: Sandbox) -> Self {
        let pipe = TokioIo::new(sandbox.connect());
        let (connection, driver) = http2::handshake(TokioExecutor::new(), pipe).await.unwrap();
        tokio::spawn(driver);
        Self {
            sandbox,
            connection,
        }
    }

    pub(crate) async fn open(&self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        self.connection.clone().send_request(request).await.unwrap()
    }

    /// Whether the request gets a response at all.
    pub(crate) async fn is_answered(&self, request: Request<Full<Bytes>>) -> bool {
        self.connection.clone().send_request(request).await.is_ok()
    }

    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        let (parts, body) = self.open(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(body.to_vec()).unwrap();
        Answer {
            code: parts.status.as_u16(),
            headers: parts.headers,
            json: serde_json::from_str(&text).unwrap_or_default(),
            text,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(request("GET", path, "", "")).await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Answer {
        let body = object.to_string();
        self.send(request("POST", path, "application/json", body))
            .await
    }

    pub(crate) async fn put(&self, path: &str, object: &Value) -> Answer {
        let body = object.to_string();
        self.send(request("PUT", path, "application/json", body))
            .await
    }

    pub(crate) async fn patch(&self, kind: &str, path: &str, patch: &Value) -> Answer {
        self.send(request("PATCH", path, kind, patch.to_string()))
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(request("DELETE", path, "", "")).await
    }

    pub(crate) async fn delete_with(&self, path: &str, options: &Value) -> Answer {
        let body = options.to_string();
        self.send(request("DELETE", path, "application/json", body))
            .await
    }

    /// Opens a watch. The part of `path` before `?` is the collection.
    pub(crate) async fn watch(&self, path: &str) -> Watch {
        self.watch_as(path, "application/json").await
    }

    pub(crate) async fn watch_as(&self, path: &str, accept: &str) -> Watch {
        let mut request = request("GET", path, "", "");
        request
            .headers_mut()
            .insert("accept", accept.parse().unwrap());
        let response = self.open(request).await;
        Watch {
            code: response.status().as_u16(),
            body: response.into_body(),
            buffer: Vec::new(),
        }
    }

    /// Creates a ConfigMap with a label `app`.
    pub(crate) async fn map(&self, name: &str, app: &str) -> Value {
        let labels = json!({"app": app});
        let map = json!({"metadata": {"name": name, "labels": labels}, "data": {"a": "b"}});
        self.post(MAPS, &map).await.object()
    }

    /// How many objects a list has.
    pub(crate) async fn count(&self, path: &str) -> usize {
        let list = self.get(path).await.object();
        list["items"].as_array().unwrap().len()
    }

    /// Repeats a GET until `done` is true, for what controllers of the server do later.
    pub(crate) async fn until(&self, path: &str, done: impl Fn(&Answer) -> bool) -> Answer {
        for _ in 0..1000 {
            let answer = self.get(path).await;
            if done(&answer) {
                return answer;
            }
            tokio::time::advance(std::time::Duration::from_millis(100)).await;
        }
        panic!("{path} never answered as expected");
    }
}

pub(crate) fn request(
    method: &str,
    path: &str,
    content_type: &str,
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(method)
        .uri(format!("http://sandbox{path}"));
    if !content_type.is_empty() {
        request = request.header("content-type", content_type);
    }
    request.body(Full::new(body.into())).unwrap()
}

pub(crate) fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap()
}

/// A running watch.
pub(crate) struct Watch {
    pub(crate) code: u16,
    body: Incoming,
    buffer: Vec<u8>,
}

impl Watch {
    /// The next event. Returns `None` at the end of the stream.
    ///
    /// # Errors
    /// If the stream breaks.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, hyper::Error> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line).unwrap()));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }

    /// The type of the next event and its object.
    pub(crate) async fn event(&mut self) -> (String, Value) {
        let mut event = self.next().await.unwrap().expect("one more event");
        let kind = event["type"].as_str().unwrap().to_owned();
        (kind, event["object"].take())
    }

    /// The type of the next event and the name of its object.
    pub(crate) async fn next_event_name(&mut self) -> (String, String) {
        let (kind, object) = self.event().await;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        (kind, name.to_owned())
    }
}

/// The type of an event and the name of its object, to compare with [`Watch::next_event_name`].
pub(crate) fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}
