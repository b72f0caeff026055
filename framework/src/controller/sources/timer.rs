use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::request::Request;
use crate::{backoff::Jitter, resource::ObjectKey};

/// A source that requests reconciles at intervals: of all objects, or of one.
///
/// The first request comes one interval after the controller began to work. To reconcile each object at
/// its own interval use [`Controller::every`](crate::controller::Controller::every).
#[derive(Debug)]
pub struct Timer {
    period: Duration,
    spread: f64,
    request: Request,
    jitter: Jitter,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    /// Requests [all objects](Request::all) whenever `period`, or up to a tenth more, has passed. The shortest period is 1 ms.
    pub fn every(period: Duration) -> Self {
        Self {
            // A period of zero would always be ready and would starve other tasks.
            period: period.max(Duration::from_millis(1)),
            spread: 0.1,
            request: Request::all(),
            jitter: Jitter::random(),
            sleep: None,
        }
    }

    /// Requests only the object with that key.
    #[must_use]
    pub fn of(mut self, key: ObjectKey) -> Self {
        self.request = Request::of(key);
        self
    }

    /// The largest random addition to the period, as a fraction of it. 0 means none. The default is 0.1.
    #[must_use]
    pub fn spread(mut self, spread: f64) -> Self {
        self.spread = spread.clamp(0.0, 1.0);
        self
    }
}

impl Stream for Timer {
    type Item = Request;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Request>> {
        let timer = &mut *self;
        let sleep = timer.sleep.get_or_insert_with(|| {
            let now = Instant::now();
            let period = timer.jitter.stretched(timer.period, timer.spread);
            // A time beyond the clock's range counts as never.
            let end = now.checked_add(period).unwrap_or(now + NEVER);
            Box::pin(sleep_until(end))
        });
        ready!(Future::poll(sleep.as_mut(), cx));
        timer.sleep = None;
        Poll::Ready(Some(timer.request.clone()))
    }
}

const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
