use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::future::WeakShared;
use hyper::client::conn::http2;
use tokio::time::Instant;

use super::{connection::Http2, fenced_io::Fences, http1::Http1};
use crate::client::{Body, ConnectError};

/// How long an idle connection stays open.
const IDLE_LIMIT: Duration = Duration::from_secs(90);
/// At most this many idle HTTP/1.1 connections stay open.
pub(super) const MAX_IDLE: usize = 25;

/// A connection that is being opened, shared by all requests that wait for it. The result goes to [`OpenConnections`].
pub(super) type PendingDial = BoxFuture<'static, Result<(), ConnectError>>;

/// The open connections of one class.
#[derive(Default)]
pub(super) struct OpenConnections {
    http2: Vec<Arc<Http2>>,
    idle: VecDeque<(Http1, Instant)>,
    /// Whether the server spoke HTTP/1.1 last. Each request then needs its own connection.
    pub(super) speaks_http1: bool,
    pub(super) dialling: Option<WeakShared<PendingDial>>,
}

/// A connection for one request.
pub(super) enum CheckedOut {
    Http1(Http1),
    Http2(Http2Stream),
}

/// One stream of an HTTP/2 connection. Free again when it is dropped.
pub(super) struct Http2Stream(Arc<Http2>);

impl CheckedOut {
    /// The fences of the requests on the connection.
    pub(super) fn fences(&self) -> &Fences {
        match self {
            Self::Http1(connection) => &connection.fences,
            Self::Http2(stream) => &stream.0.fences,
        }
    }
}

impl Http2Stream {
    pub(super) fn sender(&self) -> http2::SendRequest<Body> {
        self.0.sender.clone()
    }

    /// Records that a part of an answer came on the connection.
    pub(super) fn record_activity(&self) {
        self.0.record_activity();
    }

    /// When the last part of an answer came.
    pub(super) fn last_activity(&self) -> Instant {
        self.0.last_activity()
    }
}

impl Drop for Http2Stream {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl OpenConnections {
    /// Takes a connection of this generation with room for one more request. Closes connections of other generations;
    /// answers on them are still read to their end.
    pub(super) fn take(&mut self, generation: u64) -> Option<CheckedOut> {
        self.http2.retain(|connection| {
            !connection.sender.is_closed() && connection.generation == generation
        });
        // The first connection stays open for ever, later ones as long as they are needed.
        let mut first = true;
        self.http2
            .retain(|connection| std::mem::take(&mut first) || !connection.is_idle_for(IDLE_LIMIT));
        // The fullest connections come first, so that the last ones become idle and close.
        if let Some(connection) = self.http2.iter().find(|connection| connection.take()) {
            return Some(CheckedOut::Http2(Http2Stream(connection.clone())));
        }
        while let Some((connection, since)) = self.idle.pop_back() {
            if since.elapsed() < IDLE_LIMIT && connection.generation == generation {
                return Some(CheckedOut::Http1(connection));
            }
        }
        None
    }

    pub(super) fn put_http2(&mut self, connection: Arc<Http2>) {
        self.speaks_http1 = false;
        self.http2.push(connection);
    }

    pub(super) fn put_http1(&mut self, connection: Http1) {
        self.speaks_http1 = true;
        if connection.is_closed() {
            return;
        }
        // The newest connection is taken first, so that the oldest ones become too old and close here.
        let is_old = |(_, since): &(Http1, Instant)| since.elapsed() >= IDLE_LIMIT;
        while self.idle.len() >= MAX_IDLE || self.idle.front().is_some_and(is_old) {
            self.idle.pop_front();
        }
        self.idle.push_back((connection, Instant::now()));
    }

    /// Gives no more requests to a connection that is dead or does not answer.
    pub(super) fn forget(&mut self, dead: &Http2Stream) {
        self.http2
            .retain(|connection| !Arc::ptr_eq(connection, &dead.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::transport::dialer::Dialled;

    async fn connection() -> (Http1, tokio::io::DuplexStream) {
        let (near, far) = tokio::io::duplex(64);
        let dialled = Dialled {
            io: Box::new(near),
            http2: false,
            generation: 0,
        };
        (Http1::new(dialled).await.unwrap(), far)
    }

    #[tokio::test(start_paused = true)]
    async fn idle_connections_close_while_others_are_used() {
        let mut connections = OpenConnections::default();
        let mut far = Vec::new();
        for _ in 0..3 {
            let (near, end) = connection().await;
            connections.put_http1(near);
            far.push(end);
        }
        tokio::time::advance(IDLE_LIMIT).await;
        let (near, _end) = connection().await;
        connections.put_http1(near);
        assert_eq!(connections.idle.len(), 1);
    }
}
