use std::{fmt, time::Duration};

use tokio::time::Instant;

use crate::client::Deadline;

/// One of a request's deadlines ran out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedOut {
    pub(crate) deadline: Deadline,
    pub(crate) after: Duration,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.after.as_secs_f64();
        match self.deadline {
            Deadline::Answer => write!(f, "no answer from the API server within {seconds} s"),
            Deadline::Idle => write!(
                f,
                "the API server's answer broke off: nothing more came for {seconds} s"
            ),
            Deadline::Total => write!(
                f,
                "not done within {seconds} s, repetitions and pauses included"
            ),
        }
    }
}

impl std::error::Error for TimedOut {}

/// When a request has to be done, its answer's body included; an extension of the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TotalDeadline {
    pub(crate) at: Instant,
    pub(crate) after: Duration,
}

impl TotalDeadline {
    /// The error when it ran out.
    pub(crate) fn passed(self) -> TimedOut {
        TimedOut {
            deadline: Deadline::Total,
            after: self.after,
        }
    }
}
