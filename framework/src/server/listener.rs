use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Address, Routes, Tls,
    activity::HEAD_TIMEOUT,
    connection::{Tasks, serve},
    slots::{Slot, Slots},
};

/// How long answers that were begun may take once the server stops.
const GRACE: Duration = Duration::from_secs(3);
/// Pause after an accept that failed, as it does while the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A bound listener, not yet serving.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
}

impl Server {
    /// Binds the address; from then on the kernel accepts connections, which wait for [`run`](Self::run).
    ///
    /// # Errors
    /// The port is taken, or not allowed.
    pub async fn bind(address: &Address) -> io::Result<Self> {
        let mut first = None;
        for candidate in address.candidates() {
            match TcpListener::bind(candidate).await {
                Ok(listener) => {
                    return Ok(Self {
                        listener,
                        tls: None,
                    });
                }
                // The port is taken: IPv4 alone may be free, but half of an address is not what was asked for.
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

    /// Where it listens, with the port that was taken.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`; see the module's page for how it ends.
    pub async fn run(self, routes: Routes, stop: CancellationToken) {
        let acceptor = self.tls.as_ref().map(Tls::acceptor);
        let tls = self.tls;
        // Not a task of its own: who runs the server hears of its panic.
        let followed = async {
            if let Some(tls) = tls {
                tls.follow(stop.clone()).await;
            }
        };
        let served = serve_all(self.listener, acceptor, routes, stop.clone());
        tokio::join!(served, followed);
    }
}

async fn serve_all(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    routes: Routes,
    stop: CancellationToken,
) {
    let routes = Arc::new(routes);
    let tracker = TaskTracker::new();
    let abort = CancellationToken::new();
    let slots = Slots::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            // Losing it is safe: the server stops, and a connection that was accepted is closed.
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
    if tokio::time::timeout(GRACE, tracker.wait()).await.is_err() {
        abort.cancel();
        tracker.wait().await;
    }
}

async fn accept(listener: &TcpListener, slots: &Arc<Slots>) -> Option<(TcpStream, Slot)> {
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, slots.take(peer.ip()).await)),
        Err(error) => {
            tracing::debug!(%error, "accepting a connection failed");
            None
        }
    }
}

/// Serves a connection, behind a handshake if there is TLS, until it ends or has to make room for another one.
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
        // The connection ends in the middle of whatever it does.
        () = slot.evicted() => tracing::debug!("connection closed to make room for another one"),
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
    stream.set_write_timeout(Some(HEAD_TIMEOUT));
    let stream = Box::pin(stream);
    let Some(acceptor) = acceptor else {
        return serve(Box::new(stream), slot.clone(), routes, tasks, stop).await;
    };
    let handshake = tokio::time::timeout(HEAD_TIMEOUT, acceptor.accept(stream));
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
    use crate::health::Checks;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    async fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
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
    async fn it_serves_until_stopped_and_an_idle_connection_does_not_hold_it() {
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
    async fn a_taken_port_is_an_error() {
        let first = Server::bind(&Address::loopback(0)).await.unwrap();
        let taken = Address::loopback(first.local_addr().unwrap().port());
        let error = Server::bind(&taken).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }
}
