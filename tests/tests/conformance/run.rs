//! Runs a scenario against one server and records its answers.

use std::{error::Error, fs, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use http::{Method, Request};
use http_body_util::BodyExt;
use pilothouse::client::{Body, Client, Error as ClientError, Upgraded};
use pilothouse_sandbox::internals::protobuf;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{cbor, kubectl::Kubectl, printed::normalised, servers::Server};

/// How long to wait for an event of a watch that sends fewer than expected.
const SILENCE: Duration = Duration::from_secs(3);
/// The longest wait for a state.
const PATIENCE: Duration = Duration::from_secs(20);

/// The number of requests in flight at once.
const AT_ONCE: usize = 16;

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The answer of a server to one step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) step: String,
    pub(crate) code: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) content_type: String,
    pub(crate) body: Value,
}

/// A request under construction.
#[derive(Clone)]
pub(crate) struct Ask {
    method: Method,
    path: String,
    content_type: &'static str,
    accept: String,
    body: Option<Bytes>,
    user: Option<&'static str>,
}

impl Ask {
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            content_type: "application/json",
            accept: "application/json".into(),
            body: None,
            user: None,
        }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::POST, path).body(body)
    }

    pub(crate) fn put(path: impl Into<String>, body: Value) -> Self {
        Self::new(Method::PUT, path).body(body)
    }

    pub(crate) fn patch(path: impl Into<String>, content_type: &'static str, body: Value) -> Self {
        let mut ask = Self::new(Method::PATCH, path).body(body);
        ask.content_type = content_type;
        ask
    }

    pub(crate) fn json(path: impl Into<String>, body: Value) -> Self {
        Self::patch(path, "application/json-patch+json", body)
    }

    pub(crate) fn merge(path: impl Into<String>, body: Value) -> Self {
        Self::patch(path, "application/merge-patch+json", body)
    }

    pub(crate) fn strategic(path: impl Into<String>, body: Value) -> Self {
        Self::patch(path, "application/strategic-merge-patch+json", body)
    }

    /// Returns a server-side apply; `path` contains the field manager.
    pub(crate) fn apply(path: impl Into<String>, body: Value) -> Self {
        Self::patch(path, "application/apply-patch+yaml", body)
    }

    pub(crate) fn body(mut self, body: Value) -> Self {
        self.body = Some(serde_json::to_vec(&body).unwrap().into());
        self
    }

    /// Sets the raw body.
    pub(crate) fn raw(mut self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.content_type = content_type;
        self.body = Some(body.into());
        self
    }

    pub(crate) fn accept(mut self, accept: impl Into<String>) -> Self {
        self.accept = accept.into();
        self
    }

    /// Sends the body in protobuf, and accepts protobuf.
    pub(crate) fn in_protobuf(mut self) -> Self {
        if let Some(body) = &self.body {
            let object = serde_json::from_slice(body).unwrap();
            self = self.raw(PROTOBUF, protobuf::encode(&object).unwrap());
        }
        self.accept(PROTOBUF)
    }

    /// Sends the body in CBOR, and accepts CBOR. An apply stays one.
    pub(crate) fn in_cbor(mut self) -> Self {
        if let Some(body) = &self.body {
            let value = serde_json::from_slice(body).unwrap();
            let content_type = match self.content_type {
                "application/apply-patch+yaml" => "application/apply-patch+cbor",
                _ => cbor::CBOR,
            };
            self = self.raw(content_type, cbor::encode(&value));
        }
        self.accept(cbor::CBOR)
    }

    /// Sends the request as another user.
    pub(crate) fn with_user(mut self, user: &'static str) -> Self {
        self.user = Some(user);
        self
    }

    pub(crate) fn table(self) -> Self {
        self.accept("application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
    }
}

/// A client in its own namespace that records the answers.
pub(crate) struct Run {
    client: Client,
    kubectl: Arc<Kubectl>,
    /// The audit log, if the server writes one.
    audit: Option<PathBuf>,
    /// How many events of the audit log were read.
    audited: usize,
    pub(crate) namespace: String,
    pub(crate) answers: Vec<Answer>,
}

impl Run {
    /// Creates the namespace `namespace` and starts a run in it.
    pub(crate) async fn start(server: &Server, namespace: &str) -> Self {
        let mut run = Self {
            client: server.client.clone(),
            kubectl: server.kubectl.clone(),
            audit: server.audit.clone(),
            audited: 0,
            namespace: namespace.into(),
            answers: Vec::new(),
        };
        let body =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let made = run
            .send_unrecorded(Ask::post("/api/v1/namespaces", body))
            .await;
        assert_eq!(made.code, 201, "{made:?}");
        run
    }

    /// Returns the path of a kind in the namespace, for `apps/v1/deployments` or `v1/configmaps/a`.
    pub(crate) fn path(&self, kind: &str) -> String {
        let namespace = &self.namespace;
        let mut parts: Vec<&str> = kind.splitn(3, '/').collect();
        if parts[0] == "v1" {
            parts = kind.splitn(2, '/').collect();
            return format!("/api/v1/namespaces/{namespace}/{}", parts[1]);
        }
        format!(
            "/apis/{}/{}/namespaces/{namespace}/{}",
            parts[0], parts[1], parts[2]
        )
    }

    /// Sends a request and records its answer.
    pub(crate) async fn step(&mut self, step: impl Into<String>, ask: Ask) -> Answer {
        let mut answer = self.send_unrecorded(ask).await;
        answer.step = step.into();
        self.answers.push(answer.clone());
        answer
    }

    /// Sends independent requests all at once, and records their answers in this order.
    pub(crate) async fn steps(&mut self, steps: impl IntoIterator<Item = (String, Ask)>) {
        let client = &self.client;
        let asked = steps.into_iter().map(|(step, ask)| async move {
            let answer = send(client, ask).await;
            Answer { step, ..answer }
        });
        let answers = futures_util::stream::iter(asked).buffered(AT_ONCE);
        self.answers.extend(answers.collect::<Vec<_>>().await);
    }

    /// Runs a command of kubectl and records what it prints.
    pub(crate) async fn kubectl(&mut self, step: &str, line: &str, input: &str) {
        let printed = self.kubectl.run(&self.namespace, line, input).await;
        let body = json!({
            "exit": printed.code, "stdout": normalised(&printed.stdout), "stderr": normalised(&printed.stderr),
        });
        self.record(step, body);
    }

    /// Returns a command of kubectl that the caller starts.
    pub(crate) fn kubectl_command(&self, line: &str) -> Command {
        self.kubectl.command(&self.namespace, line)
    }

    /// Sends a request for another protocol.
    pub(crate) async fn upgrade(&self, request: Request<Body>) -> Result<Upgraded, ClientError> {
        self.client.upgrade(request).await
    }

    /// Records an observation.
    pub(crate) fn record(&mut self, step: impl Into<String>, body: Value) {
        self.answers.push(Answer {
            step: step.into(),
            code: 0,
            warnings: Vec::new(),
            content_type: String::new(),
            body,
        });
    }

    /// Sends a request without recording its answer. Returns `None` if the server resets the stream: a real server does so when two of its parts end a
    /// request that takes too long at the same time.
    pub(crate) async fn send_despite_reset(&mut self, ask: Ask) -> Option<Answer> {
        try_send(&self.client, ask).await.ok()
    }

    /// Sends a request without recording its answer.
    pub(crate) async fn send_unrecorded(&mut self, ask: Ask) -> Answer {
        send(&self.client, ask).await
    }

    /// Repeats a request until its answer is as wanted.
    pub(crate) async fn until(&mut self, ask: Ask, wanted: impl Fn(&Answer) -> bool) -> Answer {
        let late = tokio::time::Instant::now() + PATIENCE;
        loop {
            let answer = self.send_unrecorded(ask.clone()).await;
            if wanted(&answer) {
                return answer;
            }
            assert!(tokio::time::Instant::now() < late, "waited: {answer:?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Returns the events of the audit log that name the namespace of this run, and that were not returned before. Waits for the first.
    ///
    /// # Panics
    /// If the server writes no audit log: `PILOTHOUSE_CLUSTER` names one of somebody else.
    pub(crate) async fn audited(&mut self) -> Vec<Value> {
        let path = self.audit.as_ref().expect("a server with an audit log");
        let late = tokio::time::Instant::now() + PATIENCE;
        loop {
            let text = fs::read_to_string(path).unwrap_or_default();
            // The last line may not be whole.
            let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
            let events = whole
                .lines()
                .filter(|line| line.contains(&self.namespace))
                .map(|line| serde_json::from_str::<Value>(line).unwrap())
                .filter(|event| {
                    let uri = event["requestURI"].as_str().unwrap_or_default();
                    uri.contains(&self.namespace)
                });
            let new: Vec<Value> = events.skip(self.audited).collect();
            if new.iter().any(|event| event["stage"] == "ResponseComplete") {
                self.audited += new.len();
                return new;
            }
            assert!(tokio::time::Instant::now() < late, "waited: {new:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the bytes of an answer.
    pub(crate) async fn bytes(&mut self, ask: Ask) -> Bytes {
        let response = self.client.send(request(ask)).await.unwrap();
        response.into_body().collect().await.unwrap().to_bytes()
    }

    /// Opens a watch; its events are read with [`Watch::next`].
    pub(crate) async fn watch(&mut self, path: impl Into<String>) -> Watch {
        let response = self.client.send(request(Ask::get(path))).await.unwrap();
        let code = response.status().as_u16();
        Watch {
            code,
            body: response.into_body(),
            rest: Vec::new(),
        }
    }
}

async fn send(client: &Client, ask: Ask) -> Answer {
    try_send(client, ask).await.unwrap()
}

async fn try_send(client: &Client, ask: Ask) -> Result<Answer, Box<dyn Error + Send + Sync>> {
    let response = client.send(request(ask)).await?;
    let (head, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    let all = |name: &str| {
        let values = head.headers.get_all(name).iter();
        values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect::<Vec<_>>()
    };
    Ok(Answer {
        step: String::new(),
        code: head.status.as_u16(),
        warnings: all("warning"),
        body: read(&all("content-type").join(", "), &body),
        content_type: all("content-type").join(", "),
    })
}

/// Returns what a body shows: JSON, the JSON of an object in protobuf or CBOR, the events of a watch in one of both, or a text.
fn read(content_type: &str, body: &[u8]) -> Value {
    if content_type.ends_with(";stream=watch") {
        return events(body).expect("events");
    }
    if content_type.starts_with(PROTOBUF) {
        return object(body).expect("an object");
    }
    match content_type {
        cbor::CBOR => return cbor::document(body).expect("a document"),
        cbor::SEQUENCE => return cbor::sequence(body).expect("documents"),
        _ => {}
    }
    let json = serde_json::from_slice(body);
    json.unwrap_or_else(|_| String::from_utf8_lossy(body).into_owned().into())
}

fn object(body: &[u8]) -> Option<Value> {
    protobuf::decode(body, ("", ""), |object| object).ok()
}

/// Reads frames: the length, the type of the event in field 1, and the object in field 1 of field 2.
fn events(mut frames: &[u8]) -> Option<Value> {
    let mut events = Vec::new();
    while let Some((length, rest)) = frames.split_first_chunk::<4>() {
        let (frame, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let (kind, extension) = value(frame, 0x0a)?;
        let (extension, _) = value(extension, 0x12)?;
        let (inner, _) = value(extension, 0x0a)?;
        events.push(json!({"type": String::from_utf8_lossy(kind), "object": object(inner)?}));
        frames = rest;
    }
    frames.is_empty().then(|| events.into())
}

/// Splits the value of a field from what follows it.
fn value(message: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let mut rest = message.strip_prefix(&[tag])?;
    let (mut length, mut shift) = (0, 0);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        length |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if *byte < 0x80 {
            break;
        }
    }
    rest.split_at_checked(length)
}

fn request(ask: Ask) -> Request<Body> {
    let mut request = Request::builder()
        .method(ask.method)
        .uri(ask.path)
        .header("accept", ask.accept);
    if let Some(user) = ask.user {
        request = request.header("impersonate-user", user);
    }
    if ask.body.is_some() {
        request = request.header("content-type", ask.content_type);
    }
    request
        .body(ask.body.map_or_else(Body::empty, Body::from))
        .unwrap()
}

/// The answer of a watch.
pub(crate) struct Watch {
    pub(crate) code: u16,
    body: Body,
    rest: Vec<u8>,
}

impl Watch {
    /// Returns the next event, or `None` if the watch ended or is silent.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = tokio::time::timeout(SILENCE, self.body.frame())
                .await
                .ok()??;
            if let Ok(data) = frame.unwrap().into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }

    /// Returns the next `count` events, or fewer if no more come.
    pub(crate) async fn events(&mut self, count: usize) -> Value {
        let mut events = Vec::new();
        while events.len() < count
            && let Some(event) = self.next().await
        {
            events.push(event);
        }
        events.into()
    }
}
