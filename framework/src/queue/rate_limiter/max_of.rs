use std::time::Duration;

use super::{FailedKey, RateLimiter};

/// The longer delay of two limiters.
///
/// `MaxOf<ExponentialBackoff, TokenBucket>` with its defaults is what controllers use for failures: each key has its
/// own backoff, and all keys share one bucket. client-go's `DefaultTypedControllerRateLimiter` does the same.
#[derive(Clone, Debug, Default)]
pub struct MaxOf<A, B>(
    /// The first limiter.
    pub A,
    /// The second limiter.
    pub B,
);

impl<A: RateLimiter, B: RateLimiter> RateLimiter for MaxOf<A, B> {
    fn delay(&mut self, failed: FailedKey) -> Duration {
        self.0.delay(failed).max(self.1.delay(failed))
    }

    fn unused(&mut self, group: u64) {
        self.0.unused(group);
        self.1.unused(group);
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
        assert_eq!(
            both.delay(FailedKey::after(1, NOW)),
            Duration::from_millis(5)
        );
        assert_eq!(both.delay(FailedKey::after(1, NOW)), Duration::from_secs(1));
    }
}
