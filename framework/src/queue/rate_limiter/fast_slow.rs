use std::time::Duration;

use super::{FailedKey, RateLimiter};

/// One short delay for the first failures in a row of a key, and one long delay for all further ones. It suits
/// failures that go away either at once or not soon. Like client-go's `ItemFastSlowRateLimiter`.
#[derive(Clone, Debug)]
pub struct FastSlow {
    fast: Duration,
    slow: Duration,
    attempts: u32,
}

impl FastSlow {
    /// `fast` for the first `attempts` failures in a row, then `slow`.
    pub fn new(fast: Duration, slow: Duration, attempts: u32) -> Self {
        Self {
            fast,
            slow,
            attempts,
        }
    }
}

impl RateLimiter for FastSlow {
    fn delay(&mut self, failed: FailedKey) -> Duration {
        match failed.failures <= self.attempts {
            true => self.fast,
            false => self.slow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failures_are_fast_and_the_others_slow() {
        let (fast, slow) = (Duration::from_millis(5), Duration::from_secs(10));
        let mut limiter = FastSlow::new(fast, slow, 3);
        let delays: Vec<_> = (1..=5)
            .map(|failures| limiter.delay(FailedKey::after(failures, Duration::ZERO)))
            .collect();
        assert_eq!(delays, [fast, fast, fast, slow, slow]);
    }
}
