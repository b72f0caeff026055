use std::{
    error::Error as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use futures_core::future::BoxFuture;
use futures_util::{FutureExt, future::Shared as SharedFuture};
use http::{HeaderValue, Request, Response, Uri, header};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};
use tower::Service;

use super::{
    ConnectError, ConnectProblem, Dialer,
    connection::{Connection, Tasks},
    dialer,
    fenced_io::Passing,
    http1::Http1,
    lease,
    shelf::{Dialling, MOST_IDLE, Shelf, Stream, Taken},
    tls::HTTP1,
    upgrade,
};
use crate::{
    client::{Body, BoxError, class::Class},
    metrics::{ClientMetrics, Share},
};

/// How often a request that was not sent is given to another connection: all that were kept may
/// have died meanwhile.
const MOST_CONNECTIONS_TRIED: usize = MOST_IDLE + 3;
/// How often it is given to one that was opened for it: a server that closes each of them is not well.
const MOST_OPENED: usize = 2;

/// The connections to one server.
///
/// Requests and watches never share one. On HTTP/2 a further connection is opened before the
/// server's limit of streams is reached, so that nothing ever waits for a stream; on HTTP/1.1 every
/// request has a connection to itself. Whoever waits for a connection waits for the same one. The
/// connections live as long as the pool or an answer that is still being read.
///
/// A connection that says goodbye, that dies, or on which a request was given up while nothing at
/// all came gets no more requests: pings are answered by proxies that swallow everything else. A
/// watch whose reader lags is reset.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

pub(super) struct Shared {
    dialer: Arc<Dialer>,
    /// What HTTP/1.1 calls the server.
    host: Option<HeaderValue>,
    connect_deadline: Duration,
    requests: Mutex<Shelf>,
    watches: Mutex<Shelf>,
    pub(super) tasks: Tasks,
    _stop: DropGuard,
    metrics: Option<ClientMetrics>,
    /// It is counted as long as it is there.
    _counted: Option<Share>,
}

impl Pool {
    /// A pool that gives up opening a connection after `connect_deadline`, and is counted in `metrics`.
    pub(crate) fn new(
        dialer: Arc<Dialer>,
        connect_deadline: Duration,
        metrics: Option<ClientMetrics>,
    ) -> Self {
        let stop = CancellationToken::new();
        Self(Arc::new(Shared {
            host: HeaderValue::from_str(dialer.authority.as_str()).ok(),
            _counted: metrics.as_ref().map(ClientMetrics::transport),
            metrics,
            dialer,
            connect_deadline,
            requests: Mutex::default(),
            watches: Mutex::default(),
            tasks: Tasks {
                tracker: TaskTracker::new(),
                stop: stop.clone(),
            },
            _stop: stop.drop_guard(),
        }))
    }

    /// Connections of its own to the same server.
    pub(crate) fn apart(&self, connect_deadline: Duration) -> Self {
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

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let shared = self.0.clone();
        Box::pin(async move { shared.send(request).await })
    }
}

impl Shared {
    async fn send(self: Arc<Self>, mut request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let class = request.extensions().get::<Class>().copied();
        let class = class.unwrap_or(Class::Request);
        if request.uri().authority().is_some() {
            *request.uri_mut() = path_and_query(request.uri());
        }
        self.dialer.refresh().await;
        if class == Class::Upgrade {
            return upgrade::send(&self, request).await;
        }
        let (mut tried, mut opened) = (1, 0);
        loop {
            let taken = self.take(class, &mut opened).await?;
            let passing = taken.fences().enter(&request)?;
            let failed = match lease::send(&self, class, taken, request).await {
                Ok(response) => {
                    passing.into_iter().for_each(Passing::done);
                    return Ok(response);
                }
                Err(failed) => *failed,
            };
            let closed = passing.as_ref().and_then(Passing::unsent);
            passing.into_iter().for_each(Passing::done);
            if let Some(closed) = closed {
                return Err(closed.into());
            }
            match failed.unsent {
                // The connection was dead already; this is safe for writes, too.
                Some(unsent) if tried < MOST_CONNECTIONS_TRIED && opened < MOST_OPENED => {
                    request = unsent;
                }
                _ => return Err(failed.error),
            }
            tried += 1;
        }
    }

    /// `uri`, which is only path and query, as HTTP/2 has it.
    pub(super) fn absolute(&self, uri: Uri) -> Uri {
        let mut parts = uri.into_parts();
        parts.scheme = Some(self.dialer.scheme.clone());
        parts.authority = Some(self.dialer.authority.clone());
        // All three stood in valid URIs; together they do, too.
        Uri::from_parts(parts).unwrap_or_default()
    }

    /// Says which host is asked as HTTP/1.1 does.
    pub(super) fn name_host(&self, request: &mut Request<Body>) {
        if let Some(host) = &self.host {
            let headers = request.headers_mut();
            headers.entry(header::HOST).or_insert_with(|| host.clone());
        }
    }

    /// Returns a connection that has room. If no connection has room, this opens one and counts it.
    async fn take(
        self: &Arc<Self>,
        class: Class,
        opened: &mut usize,
    ) -> Result<Taken, ConnectError> {
        loop {
            let dialling = {
                let mut shelf = self.shelf(class);
                if let Some(taken) = shelf.take(self.dialer.generation()) {
                    return Ok(taken);
                }
                if shelf.speaks_http1 {
                    None
                } else {
                    Some(self.dialling(class, &mut shelf))
                }
            };
            *opened += 1;
            match dialling {
                // Its outcome may have been taken by others by the time we look: then once more.
                Some(dialling) => dialling.await?,
                None => match self.dial(class).await? {
                    Connection::Http1(connection) => return Ok(Taken::Http1(connection)),
                    connection => put(&mut self.shelf(class), connection),
                },
            }
        }
    }

    /// The connection that is being opened, or a new attempt. It goes on as long as someone waits.
    fn dialling(self: &Arc<Self>, class: Class, shelf: &mut Shelf) -> SharedFuture<Dialling> {
        let present = shelf.dialling.as_ref().and_then(|weak| weak.upgrade());
        present.unwrap_or_else(|| {
            let shared = self.clone();
            let dialling = async move {
                let outcome = shared.dial(class).await;
                let mut shelf = shared.shelf(class);
                shelf.dialling = None;
                put(&mut shelf, outcome?);
                Ok(())
            };
            let dialling = dialling.boxed().shared();
            shelf.dialling = dialling.downgrade();
            dialling
        })
    }

    pub(super) async fn dial(&self, class: Class) -> Result<Connection, ConnectError> {
        let protocols = match class {
            Class::Upgrade => &[HTTP1][..],
            Class::Request | Class::Watch => dialer::ALL,
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

    fn shelf(&self, class: Class) -> MutexGuard<'_, Shelf> {
        let shelf = match class {
            // An upgrade has its own connection and takes from no shelf.
            Class::Request | Class::Upgrade => &self.requests,
            Class::Watch => &self.watches,
        };
        // A shelf is consistent after each of its methods, whoever panicked in between.
        shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put_http1(&self, class: Class, connection: Http1) {
        self.shelf(class).put_http1(connection);
    }

    pub(super) fn forget(&self, class: Class, stream: &Stream) {
        self.shelf(class).forget(stream);
    }
}

/// Where a request goes is the pool's to say.
fn path_and_query(uri: &Uri) -> Uri {
    let path = uri.path_and_query().cloned();
    path.map_or_else(Uri::default, Uri::from)
}

fn put(shelf: &mut Shelf, connection: Connection) {
    match connection {
        Connection::Http1(connection) => shelf.put_http1(connection),
        Connection::Http2(connection) => shelf.put_http2(connection),
    }
}

/// Whether the other side said that it did not look at the request, so that even a write may be
/// sent again: a refused stream, or one that came after the last that its goodbye names. Streams
/// up to that one do not end with this error, whatever becomes of the connection.
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

/// Whether the connection broke under the request.
pub(crate) fn connection_broke(error: &BoxError) -> bool {
    error.is::<hyper::Error>()
}
