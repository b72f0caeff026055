use std::{fmt, time::Duration};

use parking_lot::Mutex;

use crate::backoff::Jitter;

/// After which time an unchanged object is reconciled again.
///
/// Each delay is the period, or up to a tenth less, so that objects that began together spread out.
pub(crate) struct ResyncPeriod {
    period: Duration,
    jitter: Mutex<Jitter>,
}

impl ResyncPeriod {
    pub(crate) fn new(period: Duration) -> Self {
        Self {
            period,
            jitter: Mutex::new(Jitter::random()),
        }
    }

    pub(crate) fn next_delay(&self) -> Duration {
        let range = self.period.mul_f64(0.9)..self.period;
        self.jitter.lock().between(range)
    }
}

impl fmt::Debug for ResyncPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResyncPeriod({:?})", self.period)
    }
}
