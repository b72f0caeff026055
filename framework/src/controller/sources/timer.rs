use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Request;
use crate::{queue::Jitter, resource::ObjectKey};

/// A source that asks at intervals: for all objects, or for one.
///
/// The first time is one interval after the controller began to work. To reconcile each object at
/// an interval of its own use [`Controller::every`](super::super::Controller::every).
#[derive(Debug)]
pub struct Timer {
    period: Duration,
    spread: f64,
    request: Request,
    jitter: Jitter,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    /// Asks for [all objects](Request::all) whenever `period`, or up to a tenth more, has passed.
    pub fn every(period: Duration) -> Self {
        Self {
            // A period of nothing would never let anybody else have a turn.
            period: period.max(Duration::from_millis(1)),
            spread: 0.1,
            request: Request::all(),
            jitter: Jitter::random(),
            sleep: None,
        }
    }

    /// Asks for the object named `key` instead.
    #[must_use]
    pub fn of(mut self, key: ObjectKey) -> Self {
        self.request = Request::of(key);
        self
    }

    /// The largest addition to the period, as a part of it: 0 for none. By default 0.1.
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
            let factor = 1.0 + timer.spread * timer.jitter.fraction();
            let now = Instant::now();
            let period = Duration::try_from_secs_f64(timer.period.as_secs_f64() * factor).ok();
            let end = period.and_then(|period| now.checked_add(period));
            // What no clock can hold is as good as never.
            Box::pin(sleep_until(end.unwrap_or(now + NEVER)))
        });
        ready!(Future::poll(sleep.as_mut(), cx));
        timer.sleep = None;
        Poll::Ready(Some(timer.request.clone()))
    }
}

const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
