use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::flags::Flags;
use crate::{Result, stop};

const CLIENTS: &str = "listen-client-urls";

pub(super) const FLAGS: &[(&str, &str)] = &[(CLIENTS, "URL at which health is served")];

/// Answers the health check for which envtest waits. The sandbox keeps its objects in `kube-apiserver`.
pub(super) async fn run(flags: &Flags) -> Result<()> {
    let url = flags.get(CLIENTS).unwrap_or("http://127.0.0.1:2379");
    let listener = TcpListener::bind(address(url)?).await;
    let listener = listener.map_err(|error| format!("listen on {url}: {error}"))?;
    eprintln!(
        "etcd of pilothouse-sandbox: http://{} answers health checks only",
        listener.local_addr()?
    );
    // Dropping the set ends its connections.
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop::requested());
    loop {
        let stream = tokio::select! {
            stopped = &mut stop => return Ok(stopped?),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    eprintln!("etcd: {error}");
                    continue;
                }
            },
            Some(_) = connections.join_next() => continue,
        };
        connections.spawn(async move {
            let server = auto::Builder::new(TokioExecutor::new());
            let connection = server.serve_connection(TokioIo::new(stream), service_fn(answer));
            // A client that disconnects is no error.
            let _ = connection.await;
        });
    }
}

/// The address of a URL such as `http://127.0.0.1:2379`, the first of several.
fn address(urls: &str) -> Result<SocketAddr> {
    let url = urls.split(',').next().unwrap_or_default().trim();
    let host = url
        .strip_prefix("http://")
        .map(|host| host.trim_end_matches('/'));
    let addr = host.and_then(|host| host.replace("localhost", "127.0.0.1").parse().ok());
    addr.ok_or_else(|| {
        format!("the flag --{CLIENTS} has the value {urls:?}: write http://127.0.0.1:2379").into()
    })
}

async fn answer(
    request: http::Request<Incoming>,
) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    let (status, text) = match request.uri().path() {
        "/health" | "/livez" | "/readyz" => (StatusCode::OK, r#"{"health":"true","reason":""}"#),
        _ => (
            StatusCode::NOT_IMPLEMENTED,
            "this etcd of pilothouse-sandbox answers health checks only: the objects are in kube-apiserver",
        ),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_url_is_read() {
        for url in [
            "http://127.0.0.1:2379",
            "http://localhost:2379/,http://[::1]:1",
        ] {
            assert_eq!(address(url).unwrap().to_string(), "127.0.0.1:2379", "{url}");
        }
        let error = address("https://x").unwrap_err().to_string();
        assert!(error.contains("https://x"), "{error}");
    }
}
