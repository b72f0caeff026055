//! A webhook server that both API servers call by URL.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinSet};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

/// The path of a webhook that answers late.
const SLOW: &str = "slow";
const DELAY: Duration = Duration::from_secs(20);

/// Returns code and body of the answer to a path and a review.
type Answers = fn(&str, &Value) -> (u16, String);

/// A running server. It ends when it is dropped.
pub(crate) struct HookServer {
    /// The beginning of the URLs of its webhooks.
    pub(crate) url: String,
    /// Its certificate as PEM, which is its own authority.
    pub(crate) authority: String,
    asked: Arc<Mutex<Vec<Value>>>,
    _tasks: JoinSet<()>,
}

impl HookServer {
    pub(crate) async fn start(answers: Answers) -> Self {
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, acceptor, answers, asked.clone()));
        Self {
            url,
            authority: cert.pem(),
            asked,
            _tasks: tasks,
        }
    }

    /// Returns the requests that were asked since the last call, in their order, with their paths.
    pub(crate) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    answers: Answers,
    asked: Arc<Mutex<Vec<Value>>>,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, asked) = (acceptor.clone(), asked.clone());
        connections.spawn(async move {
            // The real server closes connections without a farewell.
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(move |request| answer(request, answers, asked.clone()));
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    answers: Answers,
    asked: Arc<Mutex<Vec<Value>>>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let query = request.uri().query().map(str::to_owned);
    let body = request.into_body().collect().await?.to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut seen = review["request"].clone();
    seen["path"] = path.as_str().into();
    if path == SLOW {
        seen["query"] = query.into();
    }
    asked.lock().unwrap().push(seen);
    if path == SLOW {
        tokio::time::sleep(DELAY).await;
    }
    let (code, body) = answers(&path, &review);
    let content_type = match body.starts_with('{') {
        true => "application/json",
        false => "text/plain",
    };
    let response = Response::builder()
        .status(code)
        .header("content-type", content_type);
    Ok(response.body(Full::new(body.into())).unwrap())
}
