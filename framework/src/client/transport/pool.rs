use std::{
    error::Error as _,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::future::BoxFuture;
use futures_util::{FutureExt, future::Shared as SharedFuture};
use http::{HeaderValue, Request, Response, Uri, header};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tower::Service;

use super::{
    Dialer, checkout,
    connection::{Connection, Tasks},
    dialer,
    fenced_io::FencedRequest,
    http1::Http1,
    open_connections::{CheckedOut, Http2Stream, MAX_IDLE, OpenConnections, PendingDial},
    tls::HTTP1,
    upgrade,
};
use crate::{
    client::{Body, BoxError, ConnectError, ConnectProblem, request::RequestClass},
    metrics::{ClientMetrics, GaugeShare},
};

/// How many connections one unsent request may try. All idle ones may have died meanwhile.
const MAX_CONNECTIONS_TRIED: usize = MAX_IDLE + 3;
/// How many new connections one unsent request may try. A server that closes each of them has a fault.
const MAX_OPENED: usize = 2;

/// The connections to one server.
///
/// Requests and watches never share a connection. On HTTP/2, the pool opens a further connection before the server's
/// limit of streams is reached, so that no request waits for a stream. On HTTP/1.1 each request has a connection of its
/// own. Requests that wait for a new connection wait for the same one. The connections live as long as the pool, or as
/// long as an answer on them is read.
///
/// A connection gets no more requests if the server closes it (GOAWAY), if it dies, or if a request on it is given up
/// and nothing came since. Pings alone prove nothing, because some proxies answer pings and swallow everything else. A
/// watch with a slow reader is reset.
#[derive(Clone)]
pub struct Pool(Arc<PoolInner>);

pub(super) struct PoolInner {
    dialer: Arc<Dialer>,
    /// The `Host` header for HTTP/1.1.
    host: Option<HeaderValue>,
    connect_deadline: Duration,
    /// Since when the pool exists. What its connections do from time to time they do together, so that an idle program wakes seldom.
    pub(super) began: Instant,
    requests: Mutex<OpenConnections>,
    watches: Mutex<OpenConnections>,
    pub(super) tasks: Tasks,
    _stop: DropGuard,
    metrics: Option<ClientMetrics>,
    /// The pool is counted as long as this exists.
    _counted: Option<GaugeShare>,
}

impl Pool {
    /// A pool that gives up opening a connection after `connect_deadline`, and counts in `metrics`.
    pub(crate) fn new(
        dialer: Arc<Dialer>,
        connect_deadline: Duration,
        metrics: Option<ClientMetrics>,
    ) -> Self {
        let stop = CancellationToken::new();
        Self(Arc::new(PoolInner {
            host: HeaderValue::from_str(dialer.authority.as_str()).ok(),
            _counted: metrics.as_ref().map(ClientMetrics::transport),
            metrics,
            dialer,
            connect_deadline,
            began: Instant::now(),
            requests: Mutex::default(),
            watches: Mutex::default(),
            tasks: Tasks {
                tracker: TaskTracker::new(),
                stop: stop.clone(),
            },
            _stop: stop.drop_guard(),
        }))
    }

    /// A pool of its own connections to the same server.
    pub(crate) fn unshared(&self, connect_deadline: Duration) -> Self {
        Self::new(
            self.0.dialer.clone(),
            connect_deadline,
            self.0.metrics.clone(),
        )
    }
}

impl Service<Request<Body>> for Pool {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let pool = self.0.clone();
        // A block, because the parameters of an `async fn` are stored twice.
        Box::pin(async move { pool.send(&mut request).await })
    }
}

impl PoolInner {
    /// Sends a request, which is taken out of `request`.
    async fn send(
        self: &Arc<Self>,
        request: &mut Request<Body>,
    ) -> Result<Response<Body>, BoxError> {
        let class = request.extensions().get::<RequestClass>().copied();
        let class = class.unwrap_or(RequestClass::Request);
        if request.uri().authority().is_some() {
            *request.uri_mut() = path_and_query(request.uri());
        }
        self.dialer.refresh().await;
        if class == RequestClass::Upgrade {
            // Boxed because it is rare.
            return Box::pin(upgrade::send(self, std::mem::take(request))).await;
        }
        let (mut tried, mut opened) = (1, 0);
        loop {
            let taken = self.take(class, &mut opened).await?;
            let passing = taken.fences().enter(request)?;
            let failed = match checkout::send(self, class, taken, request).await {
                Ok(response) => {
                    passing.into_iter().for_each(FencedRequest::done);
                    return Ok(response);
                }
                Err(failed) => failed,
            };
            let closed = passing.as_ref().and_then(FencedRequest::unsent);
            passing.into_iter().for_each(FencedRequest::done);
            if let Some(closed) = closed {
                return Err(closed.into());
            }
            // The connection was dead before the request. To send the request again is safe, also for a write.
            let may_try = tried < MAX_CONNECTIONS_TRIED && opened < MAX_OPENED;
            if !(failed.is_unsent && may_try) {
                return Err(failed.error);
            }
            tried += 1;
        }
    }

    /// The absolute form of `uri`, which HTTP/2 needs.
    pub(super) fn absolute(&self, uri: Uri) -> Uri {
        let mut parts = uri.into_parts();
        parts.scheme = Some(self.dialer.scheme.clone());
        parts.authority = Some(self.dialer.authority.clone());
        // All three parts come from valid URIs, so together they are valid.
        Uri::from_parts(parts).unwrap_or_default()
    }

    /// Adds the `Host` header of HTTP/1.1.
    pub(super) fn name_host(&self, request: &mut Request<Body>) {
        if let Some(host) = &self.host {
            let headers = request.headers_mut();
            headers.entry(header::HOST).or_insert_with(|| host.clone());
        }
    }

    /// Returns a connection that has room. If no connection has room, this opens one and counts it.
    async fn take(
        self: &Arc<Self>,
        class: RequestClass,
        opened: &mut usize,
    ) -> Result<CheckedOut, ConnectError> {
        loop {
            let dialling = {
                let mut connections = self.connections(class);
                if let Some(taken) = connections.take(self.dialer.generation()) {
                    return Ok(taken);
                }
                if connections.speaks_http1 {
                    None
                } else {
                    Some(self.dialling(class, &mut connections))
                }
            };
            *opened += 1;
            match dialling {
                // Other requests may have taken all its streams meanwhile. Then this tries again.
                Some(dialling) => dialling.await?,
                // Boxed because it is rare.
                None => match Box::pin(self.dial(class)).await? {
                    Connection::Http1(connection) => return Ok(CheckedOut::Http1(connection)),
                    connection => put(&mut self.connections(class), connection),
                },
            }
        }
    }

    /// The pending dial, or a new one. It continues as long as a request waits for it.
    fn dialling(
        self: &Arc<Self>,
        class: RequestClass,
        connections: &mut OpenConnections,
    ) -> SharedFuture<PendingDial> {
        let present = connections
            .dialling
            .as_ref()
            .and_then(|weak| weak.upgrade());
        present.unwrap_or_else(|| {
            let shared = self.clone();
            let dialling = async move {
                let outcome = shared.dial(class).await;
                let mut connections = shared.connections(class);
                connections.dialling = None;
                put(&mut connections, outcome?);
                Ok(())
            };
            let dialling = dialling.boxed().shared();
            connections.dialling = dialling.downgrade();
            dialling
        })
    }

    pub(super) async fn dial(&self, class: RequestClass) -> Result<Connection, ConnectError> {
        let protocols = match class {
            RequestClass::Upgrade => &[HTTP1][..],
            RequestClass::Request | RequestClass::Watch => dialer::ALL,
        };
        let opened = async {
            let dialled = self.dialer.dial(protocols).await?;
            Connection::new(dialled, class, &self.tasks).await
        };
        let limit = self.connect_deadline;
        tokio::time::timeout(limit, opened)
            .await
            .unwrap_or(Err(ConnectProblem::TimedOut(limit)))
            .map_err(|problem| self.error(problem))
    }

    pub(super) fn error(&self, problem: ConnectProblem) -> ConnectError {
        self.dialer.error(problem)
    }

    fn connections(&self, class: RequestClass) -> MutexGuard<'_, OpenConnections> {
        let connections = match class {
            // An upgrade has its own connection and takes none from here.
            RequestClass::Request | RequestClass::Upgrade => &self.requests,
            RequestClass::Watch => &self.watches,
        };
        // The connections are consistent after each method, even if a method panicked.
        connections.lock()
    }

    pub(super) fn put_http1(&self, class: RequestClass, connection: Http1) {
        self.connections(class).put_http1(connection);
    }

    pub(super) fn forget(&self, class: RequestClass, stream: &Http2Stream) {
        self.connections(class).forget(stream);
    }
}

/// The pool decides which host gets the request.
fn path_and_query(uri: &Uri) -> Uri {
    let path = uri.path_and_query().cloned();
    path.map_or_else(Uri::default, Uri::from)
}

fn put(connections: &mut OpenConnections, connection: Connection) {
    match connection {
        Connection::Http1(connection) => connections.put_http1(connection),
        Connection::Http2(connection) => connections.put_http2(connection),
    }
}

/// Whether the server said that it did not process the request, so that even a write may be sent again. It does so by
/// refusing the stream, or by a GOAWAY that names an earlier last stream. Streams up to the last one never end with
/// this error, whatever happens to the connection.
pub(crate) fn was_not_processed(error: &BoxError) -> bool {
    let Some(error) = error.downcast_ref::<hyper::Error>() else {
        return false;
    };
    let inner = error.source().and_then(|inner| inner.downcast_ref());
    inner.is_some_and(|inner: &h2::Error| {
        inner.is_remote()
            && (inner.is_go_away()
                || (inner.is_reset() && inner.reason() == Some(h2::Reason::REFUSED_STREAM)))
    })
}

/// Whether the connection broke during the request.
pub(crate) fn connection_broke(error: &BoxError) -> bool {
    error.is::<hyper::Error>()
}
