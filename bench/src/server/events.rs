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
    form::{Format, Told},
    stock::number_of,
    target::now,
};

/// As much as is written at once. A frame ends with an event's end.
pub(super) const CHUNK: usize = 128 * 1024;

/// Events, made when the connection asks for more.
pub(super) struct Events {
    stock: Arc<Stock>,
    format: Format,
    /// The objects that are told of first, as far as they were.
    initial: Option<usize>,
    /// How many modifications were told of.
    sent: u64,
    wanted: Target,
    /// What it was to begin with is not known any more.
    is_too_old: bool,
    is_over: bool,
    target: Pin<Box<dyn Future<Output = watch::Receiver<Target>> + Send + Sync>>,
}

impl Events {
    /// Those after a resource version, or all objects first.
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

    /// Whether all has been listed anew since.
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
                form.told(told(self.sent, self.wanted, form.len(), stamp), &mut buffer);
                self.sent += 1;
            }
        }
        (!buffer.is_empty()).then(|| buffer.freeze())
    }
}

/// What the event of this number after the start tells.
fn told(event: u64, target: Target, count: usize, stamp: Option<u64>) -> Told {
    let (what, turn) = match (target.churned, event % 2) {
        (false, _) => ("MODIFIED", event),
        (true, 0) => ("DELETED", event / 2),
        (true, _) => ("ADDED", event / 2),
    };
    Told {
        what,
        object: number_of(turn, count),
        event,
        stamp,
    }
}

/// Ends when there is something else to send; never, if there will be nothing.
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
