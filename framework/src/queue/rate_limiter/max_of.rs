use std::time::Duration;

use super::RateLimiter;

/// The longer of two delays.
///
/// `MaxOf<ExponentialBackoff, TokenBucket>` with its defaults is how controllers delay failures: each key by its own
/// backoff, and all keys together by one bucket, as client-go's `DefaultTypedControllerRateLimiter` does.
#[derive(Clone, Debug, Default)]
pub struct MaxOf<A, B>(
    /// One limiter.
    pub A,
    /// The other.
    pub B,
);

impl<A: RateLimiter, B: RateLimiter> RateLimiter for MaxOf<A, B> {
    fn delay(&mut self, failures: u32, now: Duration) -> Duration {
        self.0.delay(failures, now).max(self.1.delay(failures, now))
    }

    fn unused(&mut self, delays: u32) {
        self.0.unused(delays);
        self.1.unused(delays);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{ExponentialBackoff, TokenBucket};

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn the_longer_of_two_delays_counts() {
        let backoff = || ExponentialBackoff::default().spread(0.0);
        let mut both = MaxOf(backoff(), TokenBucket::new(1.0, 1));
        assert_eq!(both.delay(1, NOW), Duration::from_millis(5));
        assert_eq!(both.delay(1, NOW), Duration::from_secs(1));
    }
}
