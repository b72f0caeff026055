//! Webhooks over HTTPS, in real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pilothouse_sandbox::Sandbox;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::migrations::{MIGRATIONS, is_over};
use crate::client::{Client, MAPS};

const CONFIGURATIONS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A webhook that allows what it is asked at `/allow` and denies the rest, with a certificate for `name`.
struct Hook {
    address: String,
    /// How often it was asked.
    asked: Arc<AtomicUsize>,
    authority: String,
    _task: JoinSet<()>,
}

impl Hook {
    async fn new(name: &str) -> Self {
        Self::with(certificate(name)).await
    }

    async fn with((cert, signing_key): (rcgen::Certificate, rcgen::KeyPair)) -> Self {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(stream) = acceptor.accept(stream).await else {
                    continue;
                };
                let connection = http1::Builder::new();
                let counted = service_fn(|request| {
                    count.fetch_add(1, Ordering::Relaxed);
                    answer(request)
                });
                let _ = connection
                    .serve_connection(TokioIo::new(stream), counted)
                    .await;
            }
        });
        Self {
            address,
            asked,
            authority: STANDARD.encode(cert.pem()),
            _task: task,
        }
    }
}

/// A certificate that is its own authority, as `openssl req -x509` makes it.
fn own_authority(name: &str) -> (rcgen::Certificate, rcgen::KeyPair) {
    let mut parameters = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    (parameters.self_signed(&key).unwrap(), key)
}

/// A certificate for `name`, signed by an authority that nobody sees: what envtest makes for webhooks, and gives as the bundle.
fn certificate(name: &str) -> (rcgen::Certificate, rcgen::KeyPair) {
    let mut authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let issuer = rcgen::Issuer::new(authority, rcgen::KeyPair::generate().unwrap());
    let key = rcgen::KeyPair::generate().unwrap();
    let parameters = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
    (parameters.signed_by(&key, &issuer).unwrap(), key)
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let path = request.uri().to_string();
    let body = request.into_body().collect().await?.to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    if path.starts_with("/elsewhere") {
        let response = Response::builder().status(307).header("location", "/check");
        return Ok(response.body(Full::default()).unwrap());
    }
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": path.starts_with("/allow"), "status": {"message": path}},
    });
    Ok(Response::new(Full::new(answer.to_string().into())))
}

/// Asks a webhook at this place about each ConfigMap, and returns the message for a new one.
async fn message(client: &Client, place: Value) -> String {
    let configuration = json!({"metadata": {"name": "rules"}, "webhooks": [{
        "name": "rules.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 20, "clientConfig": place,
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    }]});
    client.post(CONFIGURATIONS, &configuration).await.object();
    let made = client.post(MAPS, &json!({"metadata": {"name": "a"}})).await;
    client
        .delete(&format!("{CONFIGURATIONS}/rules"))
        .await
        .object();
    made.json["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_webhook_is_called_at_its_url_and_its_certificate_is_verified() {
    let hook = Hook::new("127.0.0.1").await;
    let client = Client::new().await;
    let url = format!("https://{}/check", hook.address);
    let trusted = json!({"url": url, "caBundle": hook.authority});
    assert_eq!(
        message(&client, trusted).await,
        "admission webhook \"rules.example.com\" denied the request: /check?timeout=20s"
    );
    let own = Hook::with(own_authority("127.0.0.1")).await;
    let place = json!({"url": format!("https://{}/own", own.address), "caBundle": own.authority});
    let denied = message(&client, place).await;
    assert!(
        denied.ends_with("denied the request: /own?timeout=20s"),
        "{denied}"
    );
    let failed = format!(
        "Internal error occurred: failed calling webhook \"rules.example.com\": failed to call webhook: Post \"{url}?timeout=20s\": "
    );
    let unknown =
        "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert_eq!(
        message(&client, json!({"url": url})).await,
        format!("{failed}{unknown}")
    );
    let elsewhere =
        json!({"url": format!("https://{}/elsewhere", hook.address), "caBundle": hook.authority});
    let refused = message(&client, elsewhere).await;
    assert!(
        refused.ends_with(
            "the server responded with the status code 307 but did not return more information"
        ),
        "{refused}"
    );
}

#[tokio::test]
async fn a_service_has_the_address_that_the_test_names() {
    let hook = Hook::new("web.default.svc").await;
    let service = json!({"service": {"namespace": "default", "name": "web", "path": "/check"}, "caBundle": hook.authority});
    let denied = "admission webhook \"rules.example.com\" denied the request: /check?timeout=20s";
    let builder = Sandbox::builder().service_address("default/web", &hook.address);
    let client = Client::of(builder.build().unwrap()).await;
    assert_eq!(message(&client, service.clone()).await, denied);

    let builder = Sandbox::builder().controls_over_http(true);
    let client = Client::of(builder.build().unwrap()).await;
    let address = json!({"service": "default/web", "address": hook.address});
    client.post("/sandbox/services", &address).await.object();
    assert_eq!(message(&client, service).await, denied);
    let wrong = json!({"service": "web", "address": hook.address});
    let refused = client.post("/sandbox/services", &wrong).await;
    let why = "the service is \"web\": write its namespace and its name, such as \"default/web\"";
    assert_eq!(refused.failure(), (400, "BadRequest", why));
}

#[tokio::test]
async fn a_service_can_lead_to_a_name_outside() {
    let hook = Hook::new("web.default.svc").await;
    let client = Client::new().await;
    let path = "/api/v1/namespaces/default/services";
    let port: u16 = hook.address.rsplit(':').next().unwrap().parse().unwrap();
    let service = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": port}]}});
    client.post(path, &service).await.object();
    let place = json!({"service": {"namespace": "default", "name": "web", "port": port}, "caBundle": hook.authority});
    let refused = message(&client, place.clone()).await;
    assert!(
        refused.ends_with("no endpoints available for service \"web\""),
        "{refused}"
    );
    client.delete(&format!("{path}/web")).await.object();
    let outside = json!({"metadata": {"name": "web"}, "spec": {"type": "ExternalName", "externalName": "localhost"}});
    client.post(path, &outside).await.object();
    let denied = message(&client, place).await;
    assert_eq!(
        denied,
        "admission webhook \"rules.example.com\" denied the request: /?timeout=20s"
    );
}

/// The operations that make a value of 4096 levels from a small one.
fn deep() -> Value {
    let copies = (0..12).map(|step| {
        let within = "/y".repeat(1 << step);
        json!({"op": "copy", "from": "/x", "path": format!("/x{within}")})
    });
    let first = json!({"op": "add", "path": "/x", "value": {}});
    [first].into_iter().chain(copies).collect()
}

/// Answers of a webhook that make no sense, with the code for the client and a part of the text.
#[tokio::test]
async fn an_answer_that_makes_no_sense_refuses_its_request_and_nothing_else() {
    let patched = |patch: &str| {
        let patch = STANDARD.encode(patch);
        json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
    };
    let mut refusing = patched("{");
    refusing["allowed"] = false.into();
    let table = [
        (json!([]), 500, "webhook response was absent"),
        (json!(1), 500, "webhook response was absent"),
        (json!({"allowed": "true"}), 500, "invalid type"),
        (
            json!({"allowed": true, "warnings": [1]}),
            500,
            "invalid type",
        ),
        (
            json!({"allowed": false, "status": "x"}),
            500,
            "invalid type",
        ),
        (
            json!({"allowed": false, "status": {"code": 1234}}),
            400,
            "denied the request",
        ),
        (patched("{"), 500, "undecodable patch"),
        (refusing, 400, "denied the request"),
        (patched(&deep().to_string()), 201, ""),
        (
            patched(r#"[{"op": "add", "path": "/data", "value": "x"}]"#),
            500,
            "cannot unmarshal",
        ),
    ];
    for policy in ["Fail", "Ignore"] {
        for (response, code, text) in &table {
            let client = Client::new().await;
            let response = response.clone();
            client.sandbox.webhook("default/rules", move |request: Request<Bytes>| {
                let review: Value = serde_json::from_slice(request.body()).unwrap();
                let mut response = response.clone();
                if let Some(response) = response.as_object_mut() {
                    response.insert("uid".into(), review["request"]["uid"].clone());
                }
                let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
                async move { Response::new(answer.to_string().into()) }
            });
            let configuration = json!({"metadata": {"name": "rules"}, "webhooks": [{
                "name": "rules.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": policy,
                "clientConfig": {"service": {"namespace": "default", "name": "rules"}},
                "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            }]});
            let mutating = CONFIGURATIONS.replace("validatingwebhook", "mutatingwebhook");
            client.post(&mutating, &configuration).await.object();
            let made = client.post(MAPS, &json!({"metadata": {"name": "a"}})).await;
            // A call that fails is ignored; what is wrong with the object is not.
            let is_call = *code == 500 && *text != "cannot unmarshal";
            let (code, text) = match policy == "Ignore" && is_call {
                true => (201, ""),
                false => (*code, *text),
            };
            assert_eq!(made.code, code, "{policy} {text}: {}", made.text);
            assert!(made.text.contains(text), "{policy} {text}: {}", made.text);
            assert_eq!(client.get(MAPS).await.code, 200);
        }
    }
}

#[tokio::test]
async fn a_handler_that_panics_is_a_failed_call() {
    let client = Client::new().await;
    client
        .sandbox
        .webhook("default/rules", |_: Request<Bytes>| async {
            panic!("on purpose")
        });
    let place = json!({"service": {"namespace": "default", "name": "rules"}});
    let message = message(&client, place).await;
    assert!(message.contains("failed to call webhook"), "{message}");
}

#[tokio::test]
async fn a_migration_asks_a_webhook_once_about_each_object() {
    let hook = Hook::new("127.0.0.1").await;
    let sandbox = Sandbox::builder().simulator(true).build().unwrap();
    let client = Client::of(sandbox).await;
    client.post(MAPS, &json!({"metadata": {"name": "a"}})).await;
    // The simulator adds a map to each namespace.
    let count = client.count("/api/v1/namespaces").await + 1;
    let late = Instant::now() + Duration::from_secs(20);
    while client.count("/api/v1/configmaps").await < count {
        assert!(Instant::now() < late, "the simulator adds no maps");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let place =
        json!({"url": format!("https://{}/allow", hook.address), "caBundle": hook.authority});
    let configuration = json!({"metadata": {"name": "rules"}, "webhooks": [{
        "name": "rules.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": place,
        "rules": [{"operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    }]});
    client.post(CONFIGURATIONS, &configuration).await.object();
    let migration =
        json!({"metadata": {"name": "maps"}, "spec": {"resource": {"resource": "configmaps"}}});
    client.post(MIGRATIONS, &migration).await.object();
    let path = format!("{MIGRATIONS}/maps");
    let late = Instant::now() + Duration::from_secs(20);
    while !is_over(&client.get(&path).await.json) {
        assert!(Instant::now() < late, "the migration never ends");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(hook.asked.load(Ordering::Relaxed), count);
}
