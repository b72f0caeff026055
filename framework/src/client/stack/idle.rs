use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::client::{Body, BoxError, Deadline, error::DeadlineExpired};

/// A body with a deadline for each piece.
pub(super) struct IdleBody {
    inner: Body,
    limit: Duration,
    /// Created for the first piece that does not come at once. Most answers come at once.
    clock: Option<Pin<Box<Sleep>>>,
    waits: bool,
}

impl IdleBody {
    pub(super) fn new(inner: Body, limit: Duration) -> Self {
        Self {
            inner,
            limit,
            clock: None,
            waits: false,
        }
    }
}

impl http_body::Body for IdleBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
            self.waits = false;
            return Poll::Ready(frame);
        }
        let until = Instant::now() + self.limit;
        let is_first = !std::mem::replace(&mut self.waits, true);
        let clock = self
            .clock
            .get_or_insert_with(|| Box::pin(sleep_until(until)));
        if is_first {
            clock.as_mut().reset(until);
        }
        if clock.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        let timed_out = DeadlineExpired {
            deadline: Deadline::Idle,
            after: self.limit,
        };
        Poll::Ready(Some(Err(timed_out.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
