use std::{fmt, time::Duration};

/// A condition did not hold in time.
#[derive(Clone, PartialEq, Eq)]
pub struct TimedOut {
    pub(super) awaited: String,
    pub(super) after: Duration,
    pub(super) seen: String,
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            awaited,
            after,
            seen,
        } = self;
        let after = after.as_secs_f64();
        write!(f, "waited {after} s for {awaited}; seen last: {seen}")
    }
}

/// The text, because tests unwrap the error.
impl fmt::Debug for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for TimedOut {}
