//! Calls webhooks as an API server does: over one connection with TLS and HTTP/2.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http2::SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pilothouse_bench::generator::{Generator, Kind};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};
use tokio_rustls::TlsConnector;

use crate::Failure;

/// The calls that run at once while the rate is measured.
const CALLS: usize = 32;
/// The reviews that are sent in turn.
const REVIEWS: u64 = 256;
/// The calls in each millisecond while the latency is measured.
const PER_MILLISECOND: u64 = 2;

/// The requests of one webhook.
pub(crate) struct Load {
    path: &'static str,
    reviews: Vec<Bytes>,
}

impl Load {
    pub(crate) fn validation() -> Self {
        Self::new(
            "/validate--v1-configmap",
            Kind::ConfigMap,
            "ConfigMap",
            "configmaps",
        )
    }

    pub(crate) fn mutation() -> Self {
        Self::new("/mutate--v1-pod", Kind::Pod, "Pod", "pods")
    }

    fn new(path: &'static str, kind: Kind, name: &str, plural: &str) -> Self {
        let generator = Generator::new(1);
        let review = |number| {
            let mut object = generator.object(kind, number);
            object["apiVersion"] = "v1".into();
            object["kind"] = name.into();
            let metadata = &object["metadata"];
            let kind = json!({"group": "", "version": "v1", "kind": name});
            let resource = json!({"group": "", "version": "v1", "resource": plural});
            let options = json!({"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "fieldManager": "bench"});
            let user = json!({"username": "jane", "uid": "u-1", "groups": ["developers", "system:authenticated"]});
            let review: Value = json!({
                "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "request": {
                    "uid": format!("00000000-0000-4000-8000-{number:012}"), "kind": kind, "resource": resource,
                    "requestKind": kind, "requestResource": resource, "name": metadata["name"],
                    "namespace": metadata["namespace"], "operation": "CREATE", "userInfo": user, "object": object,
                    "oldObject": null, "dryRun": false, "options": options,
                },
            });
            Bytes::from(review.to_string())
        };
        Self {
            path,
            reviews: (0..REVIEWS).map(review).collect(),
        }
    }

    /// One call after the other on [`CALLS`] streams. Returns the calls per second.
    pub(crate) async fn rate(
        &self,
        connection: &Connection,
        time: Duration,
    ) -> Result<f64, Failure> {
        let (begun, next, mut calls) = (Instant::now(), AtomicU64::new(0), JoinSet::new());
        let (next, reviews) = (Arc::new(next), Arc::new(self.reviews.clone()));
        for _ in 0..CALLS {
            let (connection, next) = (connection.clone(), next.clone());
            let (reviews, path) = (reviews.clone(), self.path);
            calls.spawn(async move {
                while begun.elapsed() < time {
                    let number = next.fetch_add(1, Ordering::Relaxed) % REVIEWS;
                    connection
                        .call(path, reviews[number as usize].clone())
                        .await?;
                }
                Ok::<_, Failure>(())
            });
        }
        while let Some(ended) = calls.join_next().await {
            ended??;
        }
        Ok(next.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64())
    }

    /// 2000 calls per second, whatever the others take. Returns the sorted times that they take, from the call to the whole answer.
    pub(crate) async fn latencies(
        &self,
        connection: &Connection,
        time: Duration,
    ) -> Result<Vec<Duration>, Failure> {
        let (mut ticks, mut calls) = (interval(Duration::from_millis(1)), JoinSet::new());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        for tick in 0..u64::try_from(time.as_millis())? {
            ticks.tick().await;
            for call in 0..PER_MILLISECOND {
                let number = (tick * PER_MILLISECOND + call) % REVIEWS;
                let (review, path) = (self.reviews[number as usize].clone(), self.path);
                let connection = connection.clone();
                calls.spawn(async move {
                    let begun = Instant::now();
                    connection.call(path, review).await?;
                    Ok::<_, Failure>(begun.elapsed())
                });
            }
        }
        let mut all = Vec::new();
        while let Some(ended) = calls.join_next().await {
            all.push(ended??);
        }
        all.sort_unstable();
        Ok(all)
    }
}

/// A connection to a server.
#[derive(Clone)]
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    address: SocketAddr,
}

impl Connection {
    /// Connects, and trusts the certificate of this folder.
    pub(crate) async fn open(address: SocketAddr, folder: &Path) -> Result<Self, Failure> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(folder.join("tls.crt"))?)?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions()?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let host = ServerName::try_from(address.ip().to_string())?;
        let stream = TlsConnector::from(Arc::new(config))
            .connect(host, stream)
            .await?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err("the server does not speak HTTP/2".into());
        }
        let executor = TokioExecutor::new();
        let io = TokioIo::new(stream);
        let (sender, connection) = hyper::client::conn::http2::handshake(executor, io).await?;
        tokio::spawn(connection);
        Ok(Self { sender, address })
    }

    /// Sends a review. An error unless the webhook allows it.
    pub(crate) async fn call(&self, path: &str, review: Bytes) -> Result<(), Failure> {
        let url = format!("https://{}{path}?timeout=10s", self.address);
        let request = Request::post(url)
            .header("content-type", "application/json")
            .header("accept", "application/json, */*")
            .header("user-agent", "kube-apiserver-admission")
            .header("content-length", review.len());
        let request = request.body(Full::new(review))?;
        let response = self.sender.clone().send_request(request).await?;
        let code = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let is_allowed = memchr::memmem::find(&body, b"\"allowed\":true").is_some();
        match code.is_success() && is_allowed {
            true => Ok(()),
            false => Err(format!("{path}: {code} {}", String::from_utf8_lossy(&body)).into()),
        }
    }
}
