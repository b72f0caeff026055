use std::time::Duration;

use tokio::time::Instant;

use crate::client::{Deadline, error::DeadlineExpired};

/// The total deadline of a request, with the body of its answer. An extension of the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TotalDeadline {
    pub(crate) at: Instant,
    pub(crate) after: Duration,
}

impl TotalDeadline {
    /// The error after the deadline expired.
    pub(crate) fn passed(self) -> DeadlineExpired {
        DeadlineExpired {
            deadline: Deadline::Total,
            after: self.after,
        }
    }
}
