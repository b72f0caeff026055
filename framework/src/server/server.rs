use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Address, Limits, Routes, Tls,
    activity::PEER_TIMEOUT,
    connection::{Tasks, serve},
    slots::{Slot, Slots},
};

/// The pause after a failed accept, which fails for example while the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server that is bound to an address.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
    limits: Limits,
}

impl Server {
    /// Binds the address. From then on the kernel accepts connections; they wait for [`run`](Self::run).
    ///
    /// # Errors
    /// An [`io::Error`] if the port is in use or the process may not use it.
    pub async fn bind(address: &Address) -> io::Result<Self> {
        let mut first = None;
        for candidate in address.candidates() {
            match TcpListener::bind(candidate).await {
                Ok(listener) => {
                    return Ok(Self {
                        listener,
                        tls: None,
                        limits: Limits::ENDPOINTS,
                    });
                }
                // The port is in use. IPv4 alone might be free, but the caller asked for every address.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()))
    }

    /// Serves HTTPS instead of HTTP.
    #[must_use]
    pub fn tls(self, tls: Tls) -> Self {
        Self {
            tls: Some(tls),
            ..self
        }
    }

    /// Sets other limits than those for metrics and health.
    #[must_use]
    pub(crate) fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The address of the listener, with the actual port.
    ///
    /// # Errors
    /// An [`io::Error`] if the system does not return the address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is cancelled. The [module's page](super) says how it ends.
    pub async fn run(self, routes: Routes, stop: CancellationToken) {
        let acceptor = self.tls.as_ref().map(Tls::acceptor);
        let tls = self.tls;
        // It is not a separate task, so that a panic reaches the caller.
        let followed = async {
            if let Some(tls) = tls {
                tls.keep_current(stop.clone()).await;
            }
        };
        let served = serve_all(self.listener, self.limits, acceptor, routes, stop.clone());
        tokio::join!(served, followed);
    }
}

async fn serve_all(
    listener: TcpListener,
    limits: Limits,
    acceptor: Option<TlsAcceptor>,
    routes: Routes,
    stop: CancellationToken,
) {
    let routes = Arc::new(routes);
    let tracker = TaskTracker::new();
    let abort = CancellationToken::new();
    let slots = Slots::new(limits);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            // Losing this branch is safe: the server stops, and an accepted connection is closed.
            accepted = accept(&listener, &slots) => accepted,
        };
        let Some((stream, slot)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let tasks = Tasks {
            tracker: tracker.clone(),
            ended: abort.child_token(),
        };
        let (routes, stop, abort) = (routes.clone(), stop.clone(), abort.clone());
        let acceptor = acceptor.clone();
        let served = async move {
            let work = secured(stream, slot, acceptor, routes, tasks, stop);
            abort.run_until_cancelled(work).await;
        };
        tracker.spawn(served.boxed());
    }
    drop(listener);
    tracker.close();
    if timeout(limits.grace, tracker.wait()).await.is_err() {
        abort.cancel();
        tracker.wait().await;
    }
}

async fn accept(listener: &TcpListener, slots: &Arc<Slots>) -> Option<(TcpStream, Slot)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Otherwise the kernel holds the end of an answer back until the peer has confirmed the rest. As Go does.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection may be slow");
            }
            Some((stream, slots.take(peer.ip()).await))
        }
        Err(error) => {
            tracing::debug!(%error, "accepting a connection failed");
            None
        }
    }
}

/// Serves a connection, after a TLS handshake if the server has TLS, until the connection ends or must be
/// closed for another one.
pub(super) async fn secured<S>(
    stream: S,
    slot: Slot,
    acceptor: Option<TlsAcceptor>,
    routes: Arc<Routes>,
    tasks: Tasks,
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let slot = Arc::new(slot);
    let served = serve_stream(stream, &slot, acceptor, routes, tasks, stop);
    tokio::select! {
        () = served => {}
        // The connection may be closed in the middle of a request or response.
        () = slot.evicted() => tracing::debug!("a connection was closed to make room for another one"),
    }
}

async fn serve_stream<S>(
    stream: S,
    slot: &Arc<Slot>,
    acceptor: Option<TlsAcceptor>,
    routes: Arc<Routes>,
    tasks: Tasks,
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(PEER_TIMEOUT));
    let stream = Box::pin(stream);
    let Some(acceptor) = acceptor else {
        return serve(Box::new(stream), slot.clone(), routes, tasks, stop).await;
    };
    let handshake = timeout(PEER_TIMEOUT, acceptor.accept(stream));
    match stop.run_until_cancelled(handshake).await {
        Some(Ok(Ok(stream))) => {
            slot.activity().secured();
            serve(Box::new(stream), slot.clone(), routes, tasks, stop).await;
        }
        Some(Ok(Err(error))) => tracing::debug!(%error, "a TLS handshake failed"),
        Some(Err(_)) => tracing::debug!("a TLS handshake took too long"),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{health::Checks, server::Reply};
    use http_body_util::Full;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn answers_are_sent_without_a_delay() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _peer = TcpStream::connect(address).await.unwrap();
        let slots = Slots::new(Limits::ENDPOINTS);
        let (stream, _slot) = accept(&listener, &slots).await.unwrap();
        assert!(stream.nodelay().unwrap());
    }

    async fn started(
        routes: Routes,
    ) -> (SocketAddr, CancellationToken, tokio::task::JoinHandle<()>) {
        let server = Server::bind(&Address::loopback(0)).await.unwrap();
        let stop = CancellationToken::new();
        let address = server.local_addr().unwrap();
        (
            address,
            stop.clone(),
            tokio::spawn(server.run(routes, stop)),
        )
    }

    #[tokio::test]
    async fn a_server_runs_until_stopped_and_does_not_wait_for_idle_connections() {
        let (address, stop, task) =
            started(Routes::new().health("/healthz", Checks::new("healthz"))).await;
        let answer = get(address, "/healthz").await;
        assert!(
            answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok"),
            "{answer}"
        );
        let _idle = TcpStream::connect(address).await.unwrap();
        stop.cancel();
        task.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_request_gets_the_time_of_the_limits_after_the_stop() {
        let (grace, begun) = (Duration::from_secs(20), CancellationToken::new());
        let handler_begun = begun.clone();
        let routes = Routes::new().get_async("/", move |_| {
            let begun = handler_begun.clone();
            async move {
                begun.cancel();
                tokio::time::sleep(Duration::from_secs(19)).await;
                Reply::new(Full::new("done".into()))
            }
        });
        let server = Server::bind(&Address::loopback(0)).await.unwrap();
        let server = server.limits(Limits::WEBHOOKS.with_grace(grace));
        let (address, stop) = (server.local_addr().unwrap(), CancellationToken::new());
        let served = tokio::spawn(server.run(routes, stop.clone()));
        let answer = tokio::spawn(async move { get(address, "/").await });
        begun.cancelled().await;
        stop.cancel();
        served.await.unwrap();
        assert!(answer.await.unwrap().ends_with("done"));
    }

    #[tokio::test]
    async fn a_handler_that_panics_ends_only_its_own_connection() {
        let routes = Routes::new()
            .get("/panic", |_| panic!("broken"))
            .health("/healthz", Checks::new("healthz"));
        let (address, stop, task) = started(routes).await;
        assert_eq!(get(address, "/panic").await, "");
        assert!(get(address, "/healthz").await.ends_with("ok"));
        stop.cancel();
        task.await.unwrap();
    }

    #[tokio::test]
    async fn binding_a_port_in_use_fails() {
        let first = Server::bind(&Address::loopback(0)).await.unwrap();
        let taken = Address::loopback(first.local_addr().unwrap().port());
        let error = Server::bind(&taken).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }
}
