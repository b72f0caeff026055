use std::time::Duration;

use super::{FailedKey, RateLimiter};

/// The delay of another limiter, but at most a maximum.
#[derive(Clone, Debug)]
pub struct MaxWait<L> {
    limiter: L,
    max: Duration,
}

impl<L: RateLimiter> MaxWait<L> {
    /// The delay of `limiter`, but at most `max`.
    pub fn new(limiter: L, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<L: RateLimiter> RateLimiter for MaxWait<L> {
    fn delay(&mut self, failed: FailedKey) -> Duration {
        self.limiter.delay(failed).min(self.max)
    }

    fn unused(&mut self, group: u64) {
        self.limiter.unused(group);
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
        assert_eq!(
            limiter.delay(FailedKey::after(1, Duration::ZERO)),
            seconds(1)
        );
        assert_eq!(
            limiter.delay(FailedKey::after(2, Duration::ZERO)),
            seconds(4)
        );
    }
}
