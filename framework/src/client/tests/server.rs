use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{RootCertStore, ServerConfig, server::WebPkiClientVerifier};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio::{io::DuplexStream, net::TcpListener};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

use crate::client::{Config, Connector, Io};

pub(super) type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// A request as the server received it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) method: Method,
    pub(super) uri: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The number of its connection, counted from 0.
    pub(super) connection: usize,
    /// The client's certificate on that connection, or empty.
    pub(super) certificate: Vec<u8>,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

/// `None` breaks the connection.
type Handler = dyn Fn(&Seen) -> Option<Answer> + Send + Sync;

/// A server's behaviour on any connection.
#[derive(Clone)]
pub(super) struct Site {
    handler: Arc<Handler>,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<Mutex<usize>>,
    pub(super) http2: bool,
    pub(super) most_streams: u32,
    /// Whether each connection ends, in order, after its first answer.
    pub(super) one_answer_each: bool,
    silent: Arc<AtomicBool>,
}

impl Site {
    pub(super) fn new(handler: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static) -> Self {
        Self {
            handler: Arc::new(handler),
            seen: Arc::default(),
            connections: Arc::default(),
            http2: true,
            most_streams: 100,
            one_answer_each: false,
            silent: Arc::default(),
        }
    }

    /// A server that reads each request and never answers.
    pub(super) fn silent() -> Self {
        let site = Self::new(|_| None);
        site.be_silent(true);
        site
    }

    /// Whether it reads requests without answering from now on.
    pub(super) fn be_silent(&self, silent: bool) {
        self.silent.store(silent, Ordering::SeqCst);
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    pub(super) fn connections(&self) -> usize {
        *self.connections.lock()
    }

    /// Serves one connection until it ends.
    pub(super) async fn serve(self, io: impl Io) {
        self.serve_client(io, Vec::new()).await;
    }

    async fn serve_client(self, io: impl Io, certificate: Vec<u8>) {
        let connection = {
            let mut count = self.connections.lock();
            *count += 1;
            *count - 1
        };
        let (broken, mut breaks) = tokio::sync::watch::channel(false);
        let site = self.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let (site, broken) = (site.clone(), broken.clone());
            let certificate = certificate.clone();
            async move {
                let (head, body) = request.into_parts();
                let body = body
                    .collect()
                    .await
                    .map(|body| body.to_bytes())
                    .unwrap_or_default();
                let seen = Seen {
                    method: head.method,
                    uri: head.uri.to_string(),
                    headers: head.headers,
                    body,
                    connection,
                    certificate,
                };
                site.seen.lock().push(seen.clone());
                if site.silent.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                let Some(answer) = (site.handler)(&seen) else {
                    // The connection ends without another byte. An error here would first reset the stream of
                    // HTTP/2, and a client may see that before it sees the end of the connection.
                    broken.send_replace(true);
                    return std::future::pending().await;
                };
                Ok::<_, Infallible>(answer)
            }
        });
        let io = TokioIo::new(io);
        let broken = async move {
            while !*breaks.borrow_and_update() {
                if breaks.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        if self.http2 {
            let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_concurrent_streams(self.most_streams)
                .serve_connection(io, service);
            tokio::select! { _ = connection => {}, () = broken => {} }
        } else {
            let connection = hyper::server::conn::http1::Builder::new()
                .keep_alive(!self.one_answer_each)
                .serve_connection(io, service);
            tokio::select! { _ = connection => {}, () = broken => {} }
        }
    }
}

/// Connections that are pipes to `site` in this runtime.
pub(super) fn in_memory(site: &Site) -> Arc<dyn Connector> {
    let site = site.clone();
    Arc::new(move || -> io::Result<DuplexStream> {
        let (near, far) = tokio::io::duplex(64 * 1024);
        tokio::spawn(site.clone().serve(far));
        Ok(near)
    })
}

/// A certificate authority.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: String,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            issuer: Issuer::new(params, key),
            pem,
        }
    }

    /// A certificate for `name` and its key, both as PEM.
    pub(super) fn issue(&self, name: &str) -> (String, String) {
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap())
            .unwrap();
        roots
    }
}

/// A server on loopback, with TLS. It ends when it is dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) authority: Authority,
    _task: AbortOnDropHandle<()>,
}

impl Server {
    pub(super) async fn start(site: &Site) -> Self {
        Self::with(site, "127.0.0.1", None).await
    }

    /// A server whose certificate is valid for `name`, and that requires a certificate of `clients`.
    pub(super) async fn with(site: &Site, name: &str, clients: Option<&Authority>) -> Self {
        let authority = Authority::new();
        let (certificate, key) = authority.issue(name);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            Some(clients) => {
                let roots = Arc::new(clients.roots());
                builder.with_client_cert_verifier(
                    WebPkiClientVerifier::builder_with_provider(roots, provider)
                        .build()
                        .unwrap(),
                )
            }
            None => builder.with_no_client_auth(),
        };
        let mut config = builder
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = if site.http2 {
            vec![b"h2".to_vec(), b"http/1.1".to_vec()]
        } else {
            vec![b"http/1.1".to_vec()]
        };
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let site = site.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (mut site, acceptor) = (site.clone(), acceptor.clone());
                connections.spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        site.http2 &= stream.get_ref().1.alpn_protocol() == Some(b"h2");
                        let shown = stream.get_ref().1.peer_certificates();
                        let shown = shown.and_then(|chain| chain.first());
                        let certificate = shown.map(|first| first.to_vec()).unwrap_or_default();
                        site.serve_client(stream, certificate).await;
                    }
                });
            }
        });
        Self {
            address,
            authority,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// A configuration for this server.
    pub(super) fn config(&self) -> Config {
        Config::new(format!("https://{}", self.address).parse().unwrap())
            .with_certificate_authority(self.authority.pem.clone())
    }
}

pub(super) fn json(code: u16, body: impl Into<String>) -> Option<Answer> {
    answer(code, "application/json", body)
}

pub(super) fn answer(code: u16, content_type: &str, body: impl Into<String>) -> Option<Answer> {
    let body = Full::new(Bytes::from(body.into())).boxed_unsync();
    let answer = Response::builder()
        .status(code)
        .header("content-type", content_type);
    Some(answer.body(body).unwrap())
}

/// These lines, and then silence.
pub(super) fn endless(lines: &'static str) -> Option<Answer> {
    use futures_util::StreamExt;
    let first = futures_util::stream::iter([Ok(Frame::data(Bytes::from_static(lines.as_bytes())))]);
    let body = StreamBody::new(first.chain(futures_util::stream::pending()));
    Some(Response::new(body.boxed_unsync()))
}

/// A ConfigMap named `a` in `default`.
pub(super) const OBJECT: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","resourceVersion":"1"}}"#;

/// [`OBJECT`] with the namespace and the name of the URI.
pub(super) fn object_at(uri: &str) -> String {
    let parts: Vec<_> = uri.split('/').collect();
    match parts[..] {
        [.., "namespaces", namespace, "configmaps", name] => OBJECT
            .replace("\"default\"", &format!("\"{namespace}\""))
            .replace("\"a\"", &format!("\"{name}\"")),
        [.., "namespaces", namespace, _] => {
            OBJECT.replace("\"default\"", &format!("\"{namespace}\""))
        }
        _ => OBJECT.to_owned(),
    }
}
