use std::net::IpAddr;
use std::sync::Arc;

use http::header::{CONNECTION, EXPECT};
use http::{HeaderValue, Request, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::proxy::Peer;
use super::service;
use super::unread::{Ending, Unread};
use crate::authentication::Trust;
use crate::core::Core;

/// Runs hyper's own tasks under the sandbox's tracker, so that no task outlives the sandbox.
#[derive(Clone)]
struct Tracked(Arc<Core>);

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}

/// Serves one connection, HTTP/1.1 or HTTP/2 as the client begins, with the client at the address `peer`, until it ends or `cancel` is cancelled.
pub(crate) async fn serve_connection(
    core: Arc<Core>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    trust: Trust,
    peer: Option<IpAddr>,
    cancel: CancellationToken,
) {
    let mut server = auto::Builder::new(Tracked(core.clone()));
    server.http2().max_concurrent_streams(250);
    let service = service_fn(move |request: Request<Incoming>| {
        // A client that asks before it sends a body does not send it after a refusal.
        let asks = request.headers().contains_key(EXPECT);
        let sends = request.version() < Version::HTTP_2 && !asks;
        let reader = sends.then(|| core.clone());
        let ending = Ending::default();
        let mut request = request.map(|body| Unread::new(body, reader, ending.clone()));
        if let Some(address) = peer {
            request.extensions_mut().insert(Peer(address));
        }
        let answer = service::handle(core.clone(), trust.clone(), request);
        async move {
            let mut answer = answer.await?;
            if ending.is_due() {
                // As Go's server tells its client, which would send the next request on a connection that is closed.
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(CONNECTION, close);
            }
            Ok::<_, std::io::Error>(answer)
        }
    });
    let connection = server.serve_connection_with_upgrades(TokioIo::new(stream), service);
    if let Some(Err(error)) = cancel.run_until_cancelled(connection).await {
        // Clients often disconnect without closing the connection properly.
        tracing::debug!(%error, "a connection of the sandbox ended");
    }
}
