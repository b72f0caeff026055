//! The body of a watch.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use tokio::sync::watch;

use super::{Served, Stock, form::Format};
use crate::generator::Kind;

/// As much as is written at once. A frame ends with an event's end.
const CHUNK: usize = 128 * 1024;

/// Events, made when the connection asks for more.
pub(super) struct Events {
    served: Arc<Served>,
    kind: Kind,
    format: Format,
    /// The objects that are told of first, as far as they were.
    initial: Option<usize>,
    /// How many modifications were told of.
    sent: u64,
    wanted: u64,
    target: Pin<Box<dyn Future<Output = watch::Receiver<u64>> + Send + Sync>>,
}

impl Events {
    /// Those after a resource version, or all objects first.
    pub(super) fn new(
        served: Arc<Served>,
        stock: &Stock,
        format: Format,
        initial: bool,
        version: Option<u64>,
    ) -> Self {
        let mut target = served.target.subscribe();
        let wanted = *target.borrow_and_update();
        let sent = version.map_or(0, |version| version.saturating_sub(stock.version()));
        Self {
            kind: stock.kind(),
            format,
            initial: initial.then_some(0),
            sent: if initial { 0 } else { sent },
            wanted,
            target: Box::pin(changed(target)),
            served,
        }
    }

    fn chunk(&mut self) -> Option<Bytes> {
        let served = self.served.clone();
        let form = served.form(self.kind, self.format);
        let mut buffer = BytesMut::new();
        if let Some(next) = &mut self.initial {
            buffer.reserve(CHUNK + CHUNK / 4);
            while *next < form.len() && buffer.len() < CHUNK {
                form.added(*next, &mut buffer);
                *next += 1;
            }
            if *next == form.len() {
                form.end_of_list(&mut buffer);
                self.initial = None;
            }
        } else if self.sent < self.wanted && form.len() > 0 {
            buffer.reserve(CHUNK + CHUNK / 4);
            while self.sent < self.wanted && buffer.len() < CHUNK {
                form.modified(self.sent, &mut buffer);
                self.sent += 1;
            }
        }
        (!buffer.is_empty()).then(|| buffer.freeze())
    }
}

/// Ends when there is another number of events to send; never, if there will be none.
async fn changed(mut target: watch::Receiver<u64>) -> watch::Receiver<u64> {
    if target.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    target
}

impl Body for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let events = self.get_mut();
        loop {
            if let Some(chunk) = events.chunk() {
                return Poll::Ready(Some(Ok(Frame::data(chunk))));
            }
            let mut target = ready!(events.target.as_mut().poll(context));
            events.wanted = *target.borrow_and_update();
            events.target = Box::pin(changed(target));
        }
    }
}
