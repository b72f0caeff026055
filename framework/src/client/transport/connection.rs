use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    dialer::{Dialled, of_protocol},
    fenced_io::{FencedIo, Fences},
    http1::Http1,
    settings_wait::SettingsWaitIo,
};
use crate::client::{Body, ConnectProblem, request::RequestClass};

/// A dead peer is noticed after at most this much silence …
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// … and this much waiting for the answer to a ping (R7).
const PING_TIMEOUT: Duration = Duration::from_secs(15);
/// At most this many streams share a connection, whatever the server allows.
const MAX_STREAMS: usize = 100;
/// How many bytes of an answer may come before the caller reads them.
const REQUEST_WINDOW: u32 = 2 * 1024 * 1024;
/// How many bytes of a watch may come before the caller reads them; see also `SlowReaderGuard`.
const WATCH_WINDOW: u32 = 256 * 1024;

/// A connection, ready for requests.
pub(super) enum Connection {
    Http1(Http1),
    Http2(Arc<Http2>),
}

/// An HTTP/2 connection that many requests share.
pub(super) struct Http2 {
    pub(super) sender: http2::SendRequest<Body>,
    pub(super) generation: u64,
    pub(super) fences: Fences,
    used: AtomicUsize,
    /// The server's present limit of streams. It may change, and a request must never wait for a stream.
    limit: Box<dyn Fn() -> usize + Send + Sync>,
    idle_since: Mutex<Instant>,
    active_at: Mutex<Instant>,
}

impl Http2 {
    /// Takes a stream, if the server allows one more. Must be called under the pool's lock.
    pub(super) fn take(&self) -> bool {
        let free = self.used.load(Ordering::Relaxed) < (self.limit)();
        if free {
            self.used.fetch_add(1, Ordering::Relaxed);
        }
        free
    }

    pub(super) fn give_back(&self) {
        if self.used.fetch_sub(1, Ordering::Relaxed) == 1 {
            let mut since = self.idle_since.lock();
            *since = Instant::now();
        }
    }

    /// Records that a part of an answer came. Pings do not count.
    pub(super) fn record_activity(&self) {
        *self.active_at.lock() = Instant::now();
    }

    /// When the last part of an answer came.
    pub(super) fn last_activity(&self) -> Instant {
        *self.active_at.lock()
    }

    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        let since = *self.idle_since.lock();
        self.used.load(Ordering::Relaxed) == 0 && since.elapsed() > time
    }
}

/// The tasks that drive HTTP/2 connections and upgraded connections. They end with the pool.
#[derive(Clone)]
pub(super) struct Tasks {
    pub(super) tracker: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl Tasks {
    pub(super) fn spawn(&self, task: BoxFuture<'static, ()>) {
        let stop = self.stop.clone();
        let task = async move {
            // Either may end first. A dropped connection is closed.
            tokio::select! {
                () = stop.cancelled_owned() => {}
                () = task => {}
            }
        };
        self.tracker.spawn(task.boxed());
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, task: F) {
        self.spawn(task.boxed());
    }
}

impl Connection {
    pub(super) async fn new(
        dialled: Dialled,
        class: RequestClass,
        tasks: &Tasks,
    ) -> Result<Self, ConnectProblem> {
        if dialled.http2 {
            http2(dialled, class, tasks).await
        } else {
            Http1::new(dialled).await.map(Self::Http1)
        }
    }
}

async fn http2(
    dialled: Dialled,
    class: RequestClass,
    tasks: &Tasks,
) -> Result<Connection, ConnectProblem> {
    let generation = dialled.generation;
    let (io, fences) = FencedIo::new(dialled.io);
    let (io, settings_wait) = SettingsWaitIo::new(Box::new(io));
    let window = match class {
        RequestClass::Request | RequestClass::Upgrade => REQUEST_WINDOW,
        RequestClass::Watch => WATCH_WINDOW,
    };
    let (sender, driver) = http2::Builder::new(tasks.clone())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(window)
        // All windows of the streams fit into the window of the connection. So a stream that nobody reads never stops
        // the others.
        .initial_connection_window_size(window * MAX_STREAMS as u32)
        // Nothing may be sent before the server has sent its limit; see `SettingsWaitIo`.
        .initial_max_send_streams(0)
        .handshake(TokioIo::new(io))
        .await
        .map_err(ConnectProblem::Protocol)?;
    let driver = Arc::new(Mutex::new(Box::pin(driver)));
    // The driver ends with its task. Requests that it did not take come back then.
    let limit = {
        let driver = Arc::downgrade(&driver);
        move || {
            driver.upgrade().map_or(0, |driver| {
                let driver = driver.lock();
                driver.current_max_send_streams().min(MAX_STREAMS)
            })
        }
    };
    let (ended, end) = tokio::sync::oneshot::channel();
    let driven = async move {
        let outcome = poll_fn(|cx| {
            let mut driver = driver.lock();
            Pin::as_mut(&mut driver).poll(cx)
        })
        .await;
        if let Err(Err(error)) = ended.send(outcome) {
            tracing::debug!(%error, "an HTTP/2 connection to the API server ended");
        }
    };
    tasks.spawn(driven.boxed());
    tokio::select! {
        () = settings_wait.until(|| limit() > 0) => {}
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
        fences,
        used: AtomicUsize::new(0),
        limit: Box::new(limit),
        idle_since: Mutex::new(Instant::now()),
        active_at: Mutex::new(Instant::now()),
    })))
}
