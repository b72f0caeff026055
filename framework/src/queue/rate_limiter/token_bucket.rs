use std::time::Duration;

use super::RateLimiter;

/// Lets through `burst` failures at once and `per_second` after that, over all keys together.
///
/// For use beside a limiter per key ([`MaxOf`](super::MaxOf)); not on by default. Delays add up under a storm,
/// so they are capped at `max` (300 s unless told).
#[derive(Clone, Debug)]
pub struct TokenBucket {
    per_second: f64,
    burst: f64,
    max: Duration,
    tokens: f64,
    filled: Duration,
}

impl TokenBucket {
    /// A full bucket. A rate of 0 or less lets `burst` through and then delays by the maximum.
    pub fn new(per_second: f64, burst: u32) -> Self {
        Self {
            per_second,
            burst: burst.into(),
            max: Duration::from_secs(300),
            tokens: burst.into(),
            filled: Duration::ZERO,
        }
    }

    /// The longest delay.
    #[must_use]
    pub fn max(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }
}

impl RateLimiter for TokenBucket {
    fn delay(&mut self, _failures: u32, now: Duration) -> Duration {
        let since = now.saturating_sub(self.filled).as_secs_f64();
        self.filled = now;
        self.tokens = (self.tokens + since * self.per_second).min(self.burst);
        let missing = 1.0 - self.tokens;
        if missing <= 0.0 {
            self.tokens -= 1.0;
            return Duration::ZERO;
        }
        let delay = Duration::try_from_secs_f64(missing / self.per_second).unwrap_or(self.max);
        if delay >= self.max {
            // No reservation beyond the maximum: the debt stays bounded.
            return self.max;
        }
        self.tokens -= 1.0;
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn a_bucket_lets_a_burst_through_and_then_its_rate() {
        let mut bucket = TokenBucket::new(10.0, 2);
        let delays: Vec<_> = (0..4).map(|_| bucket.delay(1, NOW).as_millis()).collect();
        assert_eq!(delays, [0, 0, 100, 200]);
        assert_eq!(bucket.delay(1, Duration::from_secs(60)), Duration::ZERO);
    }

    #[test]
    fn the_debt_of_a_bucket_is_bounded() {
        let mut bucket = TokenBucket::new(10.0, 1).max(Duration::from_secs(1));
        for _ in 0..10_000 {
            assert!(bucket.delay(1, NOW) <= Duration::from_secs(1));
        }
        assert_eq!(bucket.delay(1, Duration::from_secs(3)), Duration::ZERO);
        assert!(TokenBucket::new(0.0, 0).delay(1, NOW) == Duration::from_secs(300));
    }
}
