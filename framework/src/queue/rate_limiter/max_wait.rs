use std::time::Duration;

use super::RateLimiter;

/// The delay of another limiter, but never more than a maximum.
#[derive(Clone, Debug)]
pub struct MaxWait<L> {
    limiter: L,
    max: Duration,
}

impl<L: RateLimiter> MaxWait<L> {
    /// What `limiter` wants, at most `max`.
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<L: RateLimiter> RateLimiter for MaxWait<L> {
    fn delay(&mut self, failures: u32, now: Duration) -> Duration {
        self.limiter.delay(failures, now).min(self.max)
    }

    fn unused(&mut self, delays: u32) {
        self.limiter.unused(delays);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::FastSlow;

    #[test]
    fn no_delay_is_longer_than_the_maximum() {
        let seconds = Duration::from_secs;
        let mut limiter = MaxWait::new(FastSlow::new(seconds(1), seconds(9), 1), seconds(4));
        assert_eq!(limiter.delay(1, Duration::ZERO), seconds(1));
        assert_eq!(limiter.delay(2, Duration::ZERO), seconds(4));
    }
}
