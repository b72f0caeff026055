use std::{fmt, time::Duration};

use tokio::time::Instant;

/// The server did not answer in time.
#[derive(Debug)]
pub(crate) struct TimedOut(Duration);

impl TimedOut {
    pub(crate) fn new(after: Duration) -> Self {
        Self(after)
    }

    pub(crate) fn after(&self) -> Duration {
        self.0
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer within {} s", self.0.as_secs_f64())
    }
}

impl std::error::Error for TimedOut {}

/// When a request has to be done, its answer's body included; an extension of the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TotalDeadline {
    pub(crate) at: Instant,
    pub(crate) after: Duration,
}
