use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

use super::failure;
use super::trust::trust;

/// The longest answer of a webhook, in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// Sends one request over HTTPS to `address`, whose certificate must have the name `host` and be signed by one of `authorities`.
///
/// # Errors
/// The text of Go's HTTP client.
pub(super) async fn send(
    (address, port): (&str, u16),
    host: &str,
    authorities: &[u8],
    request: Request<Bytes>,
) -> Result<Response<Bytes>, String> {
    let shown = match address.contains(':') {
        true => format!("[{address}]:{port}"),
        false => format!("{address}:{port}"),
    };
    let places = tokio::net::lookup_host((address, port)).await;
    let places: Vec<SocketAddr> = places.map_err(|_| failure::lookup(address))?.collect();
    let stream = TcpStream::connect(&places[..]).await;
    let stream = stream.map_err(|error| failure::dial(&shown, &error))?;
    let _ = stream.set_nodelay(true);
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| format!("tls: invalid name of the server: {host}"))?;
    let connector = TlsConnector::from(Arc::new(trust(authorities)?));
    let stream = connector.connect(name, stream).await;
    let stream = stream.map_err(|error| failure::handshake(host, &error))?;
    let closed = |error: hyper::Error| match error.is_incomplete_message() || error.is_closed() {
        true => "EOF".to_owned(),
        false => format!("net/http: {error}"),
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(closed)?;
    // The connection ends with the request, also if the caller gives up.
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    let response = sender
        .send_request(request.map(Full::new))
        .await
        .map_err(closed)?;
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, LONGEST).collect().await;
    let body = body.map_err(|error| format!("the answer cannot be read: {error}"))?;
    Ok(Response::from_parts(parts, body.to_bytes()))
}
