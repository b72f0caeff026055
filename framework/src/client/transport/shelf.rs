use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::future::WeakShared;
use hyper::client::conn::http2;
use tokio::time::Instant;

use super::{ConnectError, connection::Http2, fenced_io::Fences, http1::Http1};
use crate::client::Body;

/// How long a connection that nobody needs is kept.
const KEPT: Duration = Duration::from_secs(90);
/// How many HTTP/1.1 connections are kept at most while nobody needs them.
pub(super) const MOST_IDLE: usize = 25;

/// A connection that is being opened, for everyone who waits for it. The outcome is on the shelf.
pub(super) type Dialling = BoxFuture<'static, Result<(), ConnectError>>;

/// The open connections of one class.
#[derive(Default)]
pub(super) struct Shelf {
    http2: Vec<Arc<Http2>>,
    idle: VecDeque<(Http1, Instant)>,
    /// The server spoke HTTP/1.1 last: each request needs a connection of its own.
    pub(super) speaks_http1: bool,
    pub(super) dialling: Option<WeakShared<Dialling>>,
}

/// What the shelf had.
pub(super) enum Taken {
    Http1(Http1),
    Http2(Stream),
}

/// One stream of an HTTP/2 connection; free again when it is dropped.
pub(super) struct Stream(Arc<Http2>);

impl Taken {
    /// The fences of the requests on the connection.
    pub(super) fn fences(&self) -> &Fences {
        match self {
            Self::Http1(connection) => &connection.fences,
            Self::Http2(stream) => &stream.0.fences,
        }
    }
}

impl Stream {
    pub(super) fn sender(&self) -> http2::SendRequest<Body> {
        self.0.sender.clone()
    }

    /// Part of an answer came on the connection.
    pub(super) fn heard(&self) {
        self.0.heard();
    }

    /// When that was last.
    pub(super) fn last_heard(&self) -> Instant {
        self.0.last_heard()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl Shelf {
    /// A connection of this generation with room for one more request. Those of others go: what is
    /// being answered on them is read to its end.
    pub(super) fn take(&mut self, generation: u64) -> Option<Taken> {
        self.http2.retain(|connection| {
            !connection.sender.is_closed() && connection.generation == generation
        });
        // The first one is kept for ever, later ones as long as they are needed.
        let mut first = true;
        self.http2
            .retain(|connection| std::mem::take(&mut first) || !connection.is_idle_for(KEPT));
        // The fullest ones come first, so that the last ones become idle and go.
        if let Some(connection) = self.http2.iter().find(|connection| connection.take()) {
            return Some(Taken::Http2(Stream(connection.clone())));
        }
        while let Some((connection, since)) = self.idle.pop_back() {
            if since.elapsed() < KEPT && connection.generation == generation {
                return Some(Taken::Http1(connection));
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
        // The newest one is taken first, so that the oldest ones become too old, and are closed here.
        let is_old = |(_, since): &(Http1, Instant)| since.elapsed() >= KEPT;
        while self.idle.len() >= MOST_IDLE || self.idle.front().is_some_and(is_old) {
            self.idle.pop_front();
        }
        self.idle.push_back((connection, Instant::now()));
    }

    /// Puts nothing more on a connection that is dead or does not answer.
    pub(super) fn forget(&mut self, dead: &Stream) {
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
    async fn connections_that_nobody_needs_go_while_others_are_used() {
        let mut shelf = Shelf::default();
        let mut far = Vec::new();
        for _ in 0..3 {
            let (near, end) = connection().await;
            shelf.put_http1(near);
            far.push(end);
        }
        tokio::time::advance(KEPT).await;
        let (near, _end) = connection().await;
        shelf.put_http1(near);
        assert_eq!(shelf.idle.len(), 1);
    }
}
