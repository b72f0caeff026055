use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::respond::Body;
use super::service;
use crate::Sandbox;
use crate::authentication::{Tokens, Trust};
use crate::authority::Authority;
use crate::authorization::Mode;
use crate::builtin;
use crate::clock::Clock;
use crate::core::{Core, Features};
use crate::disk::tests::on_disk_that_gets_full;
use crate::record::RequestLog;
use crate::registry::Registry;
use crate::store::Store;

fn core(store: Arc<Store>) -> Arc<Core> {
    Core::new(
        Clock::new(None, 1),
        store,
        (
            Tokens::new(BTreeMap::new(), false, BTreeMap::new()),
            Authority::new().unwrap(),
            Mode::AlwaysAllow,
        ),
        RequestLog::new(10, None),
        Features {
            cbor: false,
            controls: false,
            has_simulator: false,
        },
        Registry::new(builtin::kinds()),
    )
}

async fn send(core: &Arc<Core>, method: &str, path: &str, body: &Value) -> u16 {
    answer(core, method, path, "kubernetes-admin", body)
        .await
        .status()
        .as_u16()
}

/// The answer to a request as this user.
async fn answer(
    core: &Arc<Core>,
    method: &str,
    path: &str,
    user: &str,
    body: &Value,
) -> Response<Body> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json");
    if user != "kubernetes-admin" {
        request = request.header("impersonate-user", user);
    }
    let request = request
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    let answer = service::handle(core.clone(), Trust::Admin, request).await;
    answer.unwrap()
}

async fn object(response: Response<Body>) -> Value {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn the_answer_to_head_has_the_length_of_its_body_and_no_body() {
    let sandbox = Sandbox::builder().seed(1).build().unwrap();
    for (path, code, length) in [("/healthz", 200, "2"), (MAPS, 405, "")] {
        let none = Value::Null;
        let response = answer(sandbox.core(), "HEAD", path, "kubernetes-admin", &none).await;
        assert_eq!(response.status(), code);
        let told = response.headers()["content-length"].clone();
        assert!(
            told == length || length.is_empty() && told != "0",
            "{told:?}"
        );
        assert!(response.into_body().is_end_stream());
    }
}

/// Webhooks that never answer, and whose failures are ignored.
#[tokio::test(start_paused = true)]
async fn a_write_ends_at_its_deadline_whatever_its_webhooks_do() {
    let sandbox = Sandbox::builder().seed(1).build().unwrap();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let noted = asked.clone();
    sandbox.webhook("default/rules", move |request: Request<Bytes>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        noted.lock().push(query);
        std::future::pending::<Response<Bytes>>()
    });
    let core = sandbox.core();
    let hook = |name: &str| {
        json!({
            "name": format!("{name}.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore", "timeoutSeconds": 25,
            "clientConfig": {"service": {"namespace": "default", "name": "rules"}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        })
    };
    let rules = json!({"metadata": {"name": "rules"}, "webhooks": [hook("one"), hook("two")]});
    let all = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    assert_eq!(send(core, "POST", all, &rules).await, 201);
    for (query, seconds, message, timeouts) in [
        (
            "",
            34,
            "Timeout: request did not complete within requested timeout - context deadline exceeded",
            &["timeout=25s", "timeout=9s"][..],
        ),
        (
            "?timeout=7s",
            7,
            "Timeout: request did not complete within the allotted timeout",
            &["timeout=7s"],
        ),
    ] {
        asked.lock().clear();
        let begun = Instant::now();
        let path = format!("{MAPS}{query}");
        let map = json!({"metadata": {"name": "a"}});
        let status = object(answer(core, "POST", &path, "kubernetes-admin", &map).await).await;
        assert_eq!(status["code"], 504, "{status}");
        assert_eq!(status["reason"], "Timeout");
        assert_eq!(status["message"], message);
        assert_eq!(begun.elapsed().as_secs(), seconds);
        assert_eq!(*asked.lock(), timeouts);
        let one = format!("{MAPS}/a");
        assert_eq!(send(core, "GET", &one, &Value::Null).await, 404);
    }
    sandbox.shutdown().await;
}

#[tokio::test]
async fn a_timeout_that_is_no_duration_is_refused() {
    let sandbox = Sandbox::builder().seed(1).build().unwrap();
    for path in [MAPS, "/version"] {
        let path = format!("{path}?timeout=soon");
        let answered = answer(
            sandbox.core(),
            "GET",
            &path,
            "kubernetes-admin",
            &Value::Null,
        )
        .await;
        let status = object(answered).await;
        assert_eq!(status["code"], 400);
        let message =
            "invalid timeout specified in the request URL - time: invalid duration \"soon\"";
        assert_eq!(status["message"], message);
    }
    sandbox.shutdown().await;
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn take(&self) -> Vec<Value> {
        let text = std::mem::take(&mut *self.0.lock());
        let lines = serde_json::Deserializer::from_slice(&text).into_iter();
        lines.map(Result::unwrap).collect()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn the_audit_log_tells_who_impersonates_whom() {
    let log = Lines::default();
    let sandbox = Sandbox::builder().seed(1).audit(log.clone());
    let sandbox = sandbox.build().unwrap();
    let core = sandbox.core();
    answer(core, "GET", MAPS, "kubernetes-admin", &Value::Null).await;
    answer(core, "GET", MAPS, "ann", &Value::Null).await;
    let events = log.take();
    let [own, other] = &events[..] else {
        panic!("{events:?}")
    };
    let administrator = json!({
        "username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"],
    });
    assert_eq!(own["user"], administrator);
    assert_eq!(own.get("impersonatedUser"), None);
    assert_eq!(other["user"], administrator);
    let ann = json!({"username": "ann", "groups": ["system:authenticated"]});
    assert_eq!(other["impersonatedUser"], ann);
    sandbox.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_has_the_id_of_its_request_in_the_audit_log() {
    let log = Lines::default();
    let sandbox = Sandbox::builder().seed(1).audit(log.clone());
    let sandbox = sandbox.build().unwrap();
    let mut ids = Vec::new();
    for path in [MAPS, "/api/v1/nothing"] {
        let user = "kubernetes-admin";
        let answer = answer(sandbox.core(), "GET", path, user, &Value::Null).await;
        let id = answer.headers()["audit-id"].to_str().unwrap().to_owned();
        assert_eq!(log.take()[0]["auditID"], id);
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1]);
    sandbox.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn the_audit_log_tells_of_the_beginning_and_of_the_end_of_a_watch() {
    let log = Lines::default();
    let sandbox = Sandbox::builder().seed(1).audit(log.clone());
    let sandbox = sandbox.build().unwrap();
    let path = format!("{MAPS}?watch=1&timeoutSeconds=5");
    let watch = answer(
        sandbox.core(),
        "GET",
        &path,
        "kubernetes-admin",
        &Value::Null,
    )
    .await;
    let begun = log.take();
    assert_eq!(begun.len(), 1, "{begun:?}");
    assert_eq!(begun[0]["stage"], "ResponseStarted");
    watch.into_body().collect().await.unwrap();
    let mut ended = log.take();
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(ended[0]["stage"], "ResponseComplete");
    assert_ne!(ended[0]["stageTimestamp"], begun[0]["stageTimestamp"]);
    for field in ["stage", "stageTimestamp"] {
        ended[0][field] = begun[0][field].clone();
    }
    assert_eq!(ended, begun);
    // So does one that fails.
    let path = "/api/v1/namespaces/default/pods/none/log";
    let answered = answer(
        sandbox.core(),
        "GET",
        path,
        "kubernetes-admin",
        &Value::Null,
    )
    .await;
    drop(answered);
    let events = log.take();
    let stages: Vec<&Value> = events.iter().map(|event| &event["stage"]).collect();
    assert_eq!(stages, ["ResponseStarted", "ResponseComplete"]);
    assert_eq!(events[1]["responseStatus"]["code"], 404);
    sandbox.shutdown().await;
}

#[tokio::test]
async fn the_audit_log_names_the_token_that_was_issued() {
    let log = Lines::default();
    let sandbox = Sandbox::builder().seed(1).audit(log.clone());
    let sandbox = sandbox.build().unwrap();
    let core = sandbox.core();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = json!({"metadata": {"name": "robot"}});
    assert_eq!(send(core, "POST", accounts, &account).await, 201);
    let path = format!("{accounts}/robot/token");
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    assert_eq!(send(core, "POST", &path, &request).await, 201);
    let events = log.take();
    let annotations = &events.last().unwrap()["annotations"];
    let id = annotations["authentication.kubernetes.io/issued-credential-id"].as_str();
    assert!(id.is_some_and(|id| id.starts_with("JTI=")), "{annotations}");
    sandbox.shutdown().await;
}

/// A request that waits for a full disk fails.
#[tokio::test]
async fn a_dry_run_does_not_wait_for_the_disk() {
    let (store, full) = on_disk_that_gets_full();
    let core = core(store);
    let (all, node) = ("/api/v1/nodes", json!({"metadata": {"name": "a"}}));
    assert_eq!(send(&core, "POST", all, &node).await, 201);
    full.store(true, Ordering::Relaxed);
    let labels = json!({"metadata": {"name": "a", "labels": {"a": "b"}}});
    assert_eq!(send(&core, "PUT", "/api/v1/nodes/a", &labels).await, 500);

    let dry = "/api/v1/nodes/a?dryRun=All";
    assert_eq!(send(&core, "PUT", dry, &node).await, 200);
    assert_eq!(send(&core, "DELETE", dry, &json!({})).await, 200);
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]});
    assert_eq!(
        send(&core, "DELETE", "/api/v1/nodes/a", &options).await,
        200
    );
    // A dry run of another object still tells what is wrong with it.
    let wrong = json!({"metadata": {"name": "A"}});
    assert_eq!(
        send(&core, "POST", "/api/v1/nodes?dryRun=All", &wrong).await,
        422
    );
}
