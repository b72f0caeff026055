use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    ConnectProblem,
    dialer::{Dialled, of_protocol},
    heard::Heard,
};
use crate::client::{Body, class::Class};

/// A dead peer is noticed after at most this much silence and …
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// … this much waiting for the answer to a ping (design promise R7).
const PING_TIMEOUT: Duration = Duration::from_secs(15);
/// At most so many streams share a connection, whatever the server allows.
const MOST_STREAMS: usize = 100;
/// What a request's answer may run ahead of its reader. Answers are always read at once.
const REQUEST_WINDOW: u32 = 2 * 1024 * 1024;
/// What a watch may run ahead of its reader. All streams' windows fit into the connection's, so
/// that watches which nobody reads never stop the others.
const WATCH_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = WATCH_WINDOW * MOST_STREAMS as u32;

/// A connection, ready for requests.
pub(super) enum Connection {
    Http1(Http1),
    Http2(Arc<Http2>),
}

/// An HTTP/1.1 connection, for one request after the other.
pub(super) struct Http1 {
    pub(super) sender: http1::SendRequest<Body>,
    pub(super) generation: u64,
}

/// An HTTP/2 connection that many requests share.
pub(super) struct Http2 {
    pub(super) sender: http2::SendRequest<Body>,
    pub(super) generation: u64,
    pub(super) used: AtomicUsize,
    /// The server's limit, as far as it is known.
    limit: Arc<AtomicUsize>,
    idle_since: Mutex<Instant>,
}

impl Http2 {
    /// Takes a stream, if the server allows one more. Only called under the shelf's lock.
    pub(super) fn take(&self) -> bool {
        let free = self.used.load(Ordering::Relaxed) < self.limit.load(Ordering::Relaxed);
        if free {
            self.used.fetch_add(1, Ordering::Relaxed);
        }
        free
    }

    pub(super) fn give_back(&self) {
        if self.used.fetch_sub(1, Ordering::Relaxed) == 1 {
            let mut since = self
                .idle_since
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *since = Instant::now();
        }
    }

    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        let since = *self
            .idle_since
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.used.load(Ordering::Relaxed) == 0 && since.elapsed() > time
    }
}

/// The tasks that drive connections; they end with the pool.
#[derive(Clone)]
pub(super) struct Tasks {
    pub(super) tracker: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl Tasks {
    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, task: F) {
        let stop = self.stop.clone();
        self.tracker.spawn(async move {
            // Whichever ends first; a connection that is dropped is closed.
            tokio::select! {
                () = stop.cancelled_owned() => {}
                () = task => {}
            }
        });
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, task: F) {
        self.spawn(task);
    }
}

impl Connection {
    pub(super) async fn new(
        dialled: Dialled,
        class: Class,
        tasks: &Tasks,
    ) -> Result<Self, ConnectProblem> {
        if dialled.http2 {
            http2(dialled, class, tasks).await
        } else {
            http1(dialled, tasks).await
        }
    }
}

async fn http1(dialled: Dialled, tasks: &Tasks) -> Result<Connection, ConnectProblem> {
    let generation = dialled.generation;
    let io = TokioIo::new(dialled.io);
    let (sender, driver) = http1::handshake(io)
        .await
        .map_err(ConnectProblem::Protocol)?;
    tasks.spawn(async move {
        if let Err(error) = driver.with_upgrades().await {
            tracing::debug!(%error, "an HTTP/1.1 connection to the API server ended");
        }
    });
    Ok(Connection::Http1(Http1 { sender, generation }))
}

async fn http2(
    dialled: Dialled,
    class: Class,
    tasks: &Tasks,
) -> Result<Connection, ConnectProblem> {
    let generation = dialled.generation;
    let (io, told) = Heard::new(dialled.io);
    let window = match class {
        Class::Request | Class::Upgrade => REQUEST_WINDOW,
        Class::Watch => WATCH_WINDOW,
    };
    let (sender, driver) = http2::Builder::new(tasks.clone())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(window)
        .initial_connection_window_size(CONNECTION_WINDOW)
        // Nothing may be sent before the server has said how much; see `Heard`.
        .initial_max_send_streams(0)
        .handshake(TokioIo::new(io))
        .await
        .map_err(ConnectProblem::Protocol)?;
    let driver = Arc::new(Mutex::new(Box::pin(driver)));
    let limit = Arc::new(AtomicUsize::new(0));
    let current = {
        let (driver, limit) = (driver.clone(), limit.clone());
        move || {
            let driver = driver.lock().unwrap_or_else(PoisonError::into_inner);
            let now = driver.current_max_send_streams().min(MOST_STREAMS);
            limit.store(now, Ordering::Relaxed);
            now
        }
    };
    let (ended, end) = tokio::sync::oneshot::channel();
    tasks.spawn({
        let limit = limit.clone();
        async move {
            let outcome = poll_fn(|cx| {
                let mut driver = driver.lock().unwrap_or_else(PoisonError::into_inner);
                let outcome = Pin::as_mut(&mut driver).poll(cx);
                let now = driver.current_max_send_streams().min(MOST_STREAMS);
                limit.store(now, Ordering::Relaxed);
                outcome
            })
            .await;
            if let Err(Err(error)) = ended.send(outcome) {
                tracing::debug!(%error, "an HTTP/2 connection to the API server ended");
            }
        }
    });
    tokio::select! {
        () = told.until(|| current() > 0) => {}
        outcome = end => {
            return Err(match outcome {
                Ok(Err(error)) => of_protocol(error),
                _ => ConnectProblem::Io(std::io::ErrorKind::UnexpectedEof.into()),
            });
        }
    }
    Ok(Connection::Http2(Arc::new(Http2 {
        sender,
        generation,
        used: AtomicUsize::new(0),
        limit,
        idle_since: Mutex::new(Instant::now()),
    })))
}
