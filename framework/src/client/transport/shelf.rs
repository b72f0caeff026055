use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_core::future::BoxFuture;
use futures_util::future::WeakShared;
use hyper::client::conn::http2;
use tokio::time::Instant;

use super::{
    ConnectError,
    connection::{Http1, Http2},
};
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
            let lives = !connection.sender.is_closed() && since.elapsed() < KEPT;
            if lives && connection.generation == generation {
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
        if connection.sender.is_closed() {
            return;
        }
        while self.idle.len() >= MOST_IDLE {
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
