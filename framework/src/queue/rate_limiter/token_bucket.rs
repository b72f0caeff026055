use std::time::Duration;

use super::RateLimiter;

/// Lets through `burst` failures at once and `per_second` after that, over all keys together.
///
/// For use beside a limiter per key ([`MaxOf`](super::MaxOf)). The default is client-go's: a burst of 100, then 10
/// per second.
///
/// Each delay is the next free turn. A key that runs before its turn gives the turn back, so that the queue of turns is
/// never longer than the keys that wait. No delay is longer than `max` (24 h by default); what would wait longer
/// gets no turn of its own.
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
            max: Duration::from_secs(24 * 3600),
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

/// 10 per second after a burst of 100.
impl Default for TokenBucket {
    fn default() -> Self {
        Self::new(10.0, 100)
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

    fn unused(&mut self, delays: u32) {
        self.tokens = (self.tokens + f64::from(delays)).min(self.burst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{ExponentialBackoff, Jitter, Jittered, MaxOf, MaxWait};

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn a_bucket_lets_a_burst_through_and_then_its_rate() {
        let mut bucket = TokenBucket::new(10.0, 2);
        let delays: Vec<_> = (0..4).map(|_| bucket.delay(1, NOW).as_millis()).collect();
        assert_eq!(delays, [0, 0, 100, 200]);
        // It fills up to its burst and no further, and no time counts twice.
        for seconds in [60, 61] {
            let now = Duration::from_secs(seconds);
            let delays: Vec<_> = (0..4).map(|_| bucket.delay(1, now).as_millis()).collect();
            assert_eq!(delays, [0, 0, 100, 200]);
        }
    }

    #[test]
    fn a_turn_that_is_given_back_goes_to_the_next_key() {
        let mut bucket = MaxWait::new(
            Jittered::new(
                MaxOf(TokenBucket::new(10.0, 1), ExponentialBackoff::default()),
                0.0,
                Jitter::seeded(1),
            ),
            Duration::from_secs(9),
        );
        let mut delay = || bucket.delay(1, NOW).as_millis();
        assert_eq!([delay(), delay(), delay()], [5, 100, 200]);
        bucket.unused(2);
        assert_eq!(bucket.delay(1, NOW).as_millis(), 100);
        bucket.unused(100);
        let burst: Vec<_> = (0..2).map(|_| bucket.delay(1, NOW).as_millis()).collect();
        assert!(burst[0] < 6 && burst[1] == 100, "{burst:?}");
    }

    #[test]
    fn the_debt_of_a_bucket_is_bounded() {
        let mut bucket = TokenBucket::new(10.0, 1).max(Duration::from_secs(1));
        for _ in 0..10_000 {
            assert!(bucket.delay(1, NOW) <= Duration::from_secs(1));
        }
        assert_eq!(bucket.delay(1, Duration::from_secs(3)), Duration::ZERO);
        assert!(TokenBucket::new(0.0, 0).delay(1, NOW) == Duration::from_secs(24 * 3600));
    }
}
