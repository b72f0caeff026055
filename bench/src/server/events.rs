//! The body of a watch.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use tokio::sync::watch;

use super::{
    Served, Stock, Target,
    form::{EventContent, Format},
    stock::number_of,
    target::now,
};

/// The number of bytes after which a frame ends. A frame always ends at the end of an event.
pub(super) const CHUNK: usize = 128 * 1024;

/// The events of a watch, produced when the connection asks for more.
pub(super) struct Events {
    stock: Arc<Stock>,
    format: Format,
    /// The number of initial objects that were sent, or `None` when all were sent.
    initial: Option<usize>,
    /// The number of modifications that were sent.
    sent: u64,
    wanted: Target,
    /// Whether the resource version of the request is too old.
    is_too_old: bool,
    is_over: bool,
    target: Pin<Box<dyn Future<Output = watch::Receiver<Target>> + Send + Sync>>,
}

impl Events {
    /// Returns the events after a resource version, or all objects first.
    pub(super) fn new(
        served: &Served,
        stock: Arc<Stock>,
        format: Format,
        initial: bool,
        version: Option<u64>,
    ) -> Self {
        let mut target = served.target.subscribe();
        let wanted = *target.borrow_and_update();
        let sent = version.map_or(0, |version| version.saturating_sub(stock.version()));
        Self {
            initial: initial.then_some(0),
            sent: if initial { 0 } else { sent },
            wanted,
            is_too_old: !initial && version.is_some_and(|version| version < stock.oldest()),
            is_over: false,
            target: Box::pin(changed(target)),
            stock,
            format,
        }
    }

    /// Whether a relist was requested since the watch began.
    fn is_expired(&self) -> bool {
        self.is_too_old || self.wanted.epoch != self.stock.epoch()
    }

    fn chunk(&mut self) -> Option<Bytes> {
        let form = self.stock.form(self.format);
        let mut buffer = BytesMut::new();
        if self.is_expired() {
            form.expired(&mut buffer);
            self.is_over = true;
        } else if let Some(next) = &mut self.initial {
            buffer.reserve(CHUNK + CHUNK / 4);
            while *next < form.len() && buffer.len() < CHUNK {
                form.added(*next, &mut buffer);
                *next += 1;
            }
            if *next == form.len() {
                form.end_of_list(&mut buffer);
                self.initial = None;
            }
        } else if self.sent < self.wanted.events && form.len() > 0 {
            buffer.reserve(CHUNK + CHUNK / 4);
            while self.sent < self.wanted.events && buffer.len() < CHUNK {
                let stamp = self.wanted.stamped.then(now);
                form.write_event(
                    event_content(self.sent, self.wanted, form.len(), stamp),
                    &mut buffer,
                );
                self.sent += 1;
            }
        }
        (!buffer.is_empty()).then(|| buffer.freeze())
    }
}

/// Returns the content of the event with this number after the start.
fn event_content(event: u64, target: Target, count: usize, stamp: Option<u64>) -> EventContent {
    let (what, turn) = match (target.churned, event % 2) {
        (false, _) => ("MODIFIED", event),
        (true, 0) => ("DELETED", event / 2),
        (true, _) => ("ADDED", event / 2),
    };
    EventContent {
        what,
        object: number_of(turn, count),
        event,
        stamp,
    }
}

/// Completes when there is something more to send, and never if nothing more will come.
pub(super) async fn changed<T>(mut target: watch::Receiver<T>) -> watch::Receiver<T> {
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
        if events.is_over {
            return Poll::Ready(None);
        }
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
