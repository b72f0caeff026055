//! Connections: HTTP/1.1 or HTTP/2, in cleartext or over TLS.

use std::{error::Error, io, net::SocketAddr, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use http_body_util::BodyExt;
use hyper::{Method, Request, body::Incoming, header, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::{Served, answer, applied, leases};

/// The certificate of this run.
pub(super) struct Tls {
    acceptor: TlsAcceptor,
    pem: String,
}

impl Tls {
    pub(super) fn new() -> Result<Self, Box<dyn Error>> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            pem: made.cert.pem(),
        })
    }
}

pub(super) struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
}

impl Listener {
    /// Listens on a free port of this machine.
    pub(super) async fn bind(tls: Option<Tls>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self {
            listener,
            address,
            tls,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the kubeconfig for the peers, as JSON, which is valid YAML.
    pub(super) fn kubeconfig(&self) -> String {
        let mut cluster = json!({"server": format!("http://{}", self.address)});
        if let Some(tls) = &self.tls {
            cluster = json!({
                "server": format!("https://{}", self.address),
                "certificate-authority-data": STANDARD.encode(&tls.pem),
            });
        }
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "bench",
            "clusters": [{"name": "bench", "cluster": cluster}],
            "users": [{"name": "bench", "user": {}}],
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        })
        .to_string()
    }

    /// Serves for ever. Failed connections are printed to the standard error.
    pub(super) async fn run(self, served: Arc<Served>) {
        let acceptor = self.tls.map(|tls| tls.acceptor);
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => {
                    served.counts.connection();
                    stream
                }
                Err(error) => {
                    eprintln!("accept: {error}");
                    continue;
                }
            };
            let (served, acceptor) = (served.clone(), acceptor.clone());
            tokio::spawn(async move {
                let result = match (stream.set_nodelay(true), acceptor) {
                    (Err(error), _) => Err(error.into()),
                    (Ok(()), None) => serve(stream, served).await,
                    (Ok(()), Some(acceptor)) => match acceptor.accept(stream).await {
                        Ok(stream) => serve(stream, served).await,
                        Err(error) => Err(error.into()),
                    },
                };
                // A peer that ends closes its watches without notice.
                if let Err(error) = result
                    && std::env::var_os("BENCH_VERBOSE").is_some()
                {
                    eprintln!("connection: {error}");
                }
            });
        }
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    served: Arc<Served>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let service = service_fn(move |request: Request<Incoming>| {
        if std::env::var_os("BENCH_VERBOSE").is_some() {
            eprintln!(
                "{:?} {} {}",
                request.version(),
                request.method(),
                request.uri()
            );
        }
        let served = served.clone();
        async move {
            let (head, body) = request.into_parts();
            let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
            let accept = head.headers.get(header::ACCEPT);
            let accept = accept
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default();
            if head.method == Method::PATCH {
                let body = body.collect().await?.to_bytes();
                return Ok::<_, hyper::Error>(applied::answer(&served, path, query, accept, &body));
            }
            if head.method == Method::PUT {
                let body = body.collect().await?.to_bytes();
                return Ok(leases::answer(&served, path, &body));
            }
            Ok(answer::answer(&served, &head.method, path, query, accept))
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http2()
        // The default of API servers since 1.29.
        .max_concurrent_streams(100)
        .initial_stream_window_size(1 << 24)
        .initial_connection_window_size(1 << 24);
    builder
        .serve_connection(TokioIo::new(stream), service)
        .await
}
