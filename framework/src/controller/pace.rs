use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::queue::Jitter;

/// How long until an object is reconciled again though nothing happened: the period or up to a
/// tenth less, so that objects that began together spread out.
pub(super) struct Pace {
    period: Duration,
    jitter: Mutex<Jitter>,
}

impl Pace {
    pub(super) fn new(period: Duration) -> Self {
        Self {
            period,
            jitter: Mutex::new(Jitter::random()),
        }
    }

    pub(super) fn next(&self) -> Duration {
        let mut jitter = self.jitter.lock().unwrap_or_else(PoisonError::into_inner);
        self.period.mul_f64(1.0 - 0.1 * jitter.fraction())
    }
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pace({:?})", self.period)
    }
}
