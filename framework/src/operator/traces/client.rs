use std::{
    env,
    error::Error,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header::HOST};
use http_body_util::{BodyExt, Full, Limited};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use opentelemetry_http::{HttpClient, HttpError};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use tokio::{net::TcpStream, runtime::Handle};
use tokio_rustls::TlsConnector;

/// The time limit for sending one batch; OpenTelemetry's default.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The largest response. A collector sends a few bytes.
const LARGEST_ANSWER: usize = 64 << 10;

/// An HTTP client that sends batches of spans, each over a new connection, because there is one batch every few
/// seconds. Without it the exporter would need reqwest.
#[derive(Debug)]
pub(super) struct Client {
    /// The exporter's thread does not belong to the runtime, so requests are spawned here.
    runtime: Handle,
    endpoint: String,
    timeout: Duration,
    /// Whether sending the last batch failed.
    failing: Arc<AtomicBool>,
}

impl Client {
    /// Must be called within the runtime that will run the connections.
    pub(super) fn new(endpoint: String) -> Self {
        let names = [
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
            "OTEL_EXPORTER_OTLP_TIMEOUT",
        ];
        let milliseconds = names
            .into_iter()
            .find_map(|name| env::var(name).ok()?.parse().ok());
        Self {
            runtime: Handle::current(),
            endpoint,
            timeout: milliseconds.map_or(TIMEOUT, Duration::from_millis),
            failing: Arc::default(),
        }
    }
}

type Sent<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl HttpClient for Client {
    fn send_bytes<'life0, 'async_trait>(&'life0 self, request: Request<Bytes>) -> Sent<'async_trait>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let limit = self.timeout;
            // On the runtime, because the timer and the connection need it.
            let sent = self.runtime.spawn(async move {
                let sent = tokio::time::timeout(limit, send(request)).await;
                sent.unwrap_or_else(|_| {
                    let late = "no response in time";
                    Err(io::Error::new(io::ErrorKind::TimedOut, late).into())
                })
            });
            let sent = sent.await.unwrap_or_else(|error| Err(error.into()));
            let refused = match &sent {
                Ok(response) if response.status().is_success() => None,
                Ok(response) => Some(format!(
                    "the collector responded with {}",
                    response.status()
                )),
                Err(error) => Some(error.to_string()),
            };
            let failed = self.failing.swap(refused.is_some(), Ordering::Relaxed);
            if let Some(reason) = refused.filter(|_| !failed) {
                tracing::warn!(
                    "sending traces to {} failed: {reason}: check OTEL_EXPORTER_OTLP_ENDPOINT; spans are dropped until it works",
                    without_user(&self.endpoint)
                );
            }
            sent
        })
    }
}

/// The URL without the user name and password that it may contain.
fn without_user(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => "an invalid URL".to_owned(),
    }
}

async fn send(request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let (mut parts, body) = request.into_parts();
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "the endpoint is not a URL");
    let authority = parts.uri.authority().ok_or_else(invalid)?.clone();
    let secure = parts.uri.scheme_str() == Some("https");
    let host = authority.host().trim_matches(['[', ']']).to_owned();
    let port = authority
        .port_u16()
        .unwrap_or(if secure { 443 } else { 80 });
    let address = match authority.port() {
        Some(port) => format!("{}:{port}", authority.host()),
        None => authority.host().to_owned(),
    };
    parts.headers.insert(HOST, HeaderValue::try_from(address)?);
    let path = parts.uri.path_and_query().cloned();
    parts.uri = path.map_or_else(Uri::default, Uri::from);
    let request = Request::from_parts(parts, Full::new(body));
    let stream = TcpStream::connect((&*host, port)).await?;
    match secure {
        true => {
            let name = ServerName::try_from(host)?;
            let stream = TlsConnector::from(tls()?).connect(name, stream).await?;
            exchange(TokioIo::new(stream), request).await
        }
        false => exchange(TokioIo::new(stream), request).await,
    }
}

/// Trusts the system's root certificates, or those of `SSL_CERT_FILE`.
fn tls() -> Result<Arc<ClientConfig>, Box<dyn Error + Send + Sync>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

async fn exchange<T: Read + Write + Unpin + Send + 'static>(
    stream: T,
    request: Request<Full<Bytes>>,
) -> Result<Response<Bytes>, HttpError> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
    let answer = async move {
        let (parts, body) = sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, LARGEST_ANSWER).collect().await?;
        Ok(Response::from_parts(parts, body.to_bytes()))
    };
    // The sender ends with the response, and the connection ends with the sender.
    let (answer, _) = tokio::join!(answer, connection);
    answer
}
