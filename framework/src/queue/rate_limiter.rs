use std::time::Duration;

use super::Jitter;

/// Decides how long a key that failed waits before it is tried again.
///
/// The queue counts the failures of a key; a limiter is asked once for each failure.
pub trait RateLimiter: Send + 'static {
    /// The delay after the `failures`-th failure in a row (1 is the first), at `now` since the
    /// queue was made.
    fn delay(&mut self, failures: u32, now: Duration) -> Duration;
}

impl<L: RateLimiter + ?Sized> RateLimiter for Box<L> {
    fn delay(&mut self, failures: u32, now: Duration) -> Duration {
        (**self).delay(failures, now)
    }
}

/// Doubles the delay with every failure: `min(base · 2ⁿ⁻¹, max)`, times a random factor from 1 to
/// `1 + spread`, so that keys that failed together do not come back together.
///
/// By default 5 ms, 300 s and a factor of up to 1.1.
#[derive(Clone, Debug)]
pub struct ExponentialBackoff {
    base: Duration,
    max: Duration,
    spread: f64,
    jitter: Jitter,
}

impl ExponentialBackoff {
    /// From `base` to `max`, with a factor of up to 1.1.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self {
            base,
            max,
            spread: 0.1,
            jitter: Jitter::random(),
        }
    }

    /// The largest addition, as a part of the delay: 0 for none.
    #[must_use]
    pub fn spread(mut self, spread: f64) -> Self {
        self.spread = spread.clamp(0.0, 1.0);
        self
    }

    /// Draws the factors from `jitter`, for results that can be repeated.
    #[must_use]
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = jitter;
        self
    }
}

impl Default for ExponentialBackoff {
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_secs(300))
    }
}

impl RateLimiter for ExponentialBackoff {
    fn delay(&mut self, failures: u32, _now: Duration) -> Duration {
        // 2⁶³ of anything is beyond every maximum.
        let factor = 1_u64 << failures.saturating_sub(1).min(63);
        let nanos = self.base.as_nanos().saturating_mul(factor.into());
        let delay = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).min(self.max);
        delay.mul_f64(1.0 + self.spread * self.jitter.fraction())
    }
}

/// Lets through `burst` failures at once and `per_second` after that, over all keys together.
///
/// For use beside a limiter per key ([`MaxOf`]); not on by default. Delays add up under a storm,
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

/// The longer of two delays.
#[derive(Clone, Debug)]
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn the_delay_doubles_from_5_ms_to_300_s() {
        let mut backoff = ExponentialBackoff::default().spread(0.0);
        let delays: Vec<_> = (1..=4).map(|n| backoff.delay(n, NOW).as_millis()).collect();
        assert_eq!(delays, [5, 10, 20, 40]);
        for failures in [17, 64, 65, u32::MAX] {
            assert_eq!(backoff.delay(failures, NOW), Duration::from_secs(300));
        }
    }

    #[test]
    fn the_factor_lies_between_1_and_1_1_and_varies() {
        let mut backoff = ExponentialBackoff::default().jitter(Jitter::seeded(7));
        let delays: Vec<_> = (0..200).map(|_| backoff.delay(1, NOW)).collect();
        let (low, high) = (Duration::from_millis(5), Duration::from_micros(5500));
        assert!(delays.iter().all(|delay| (low..=high).contains(delay)));
        assert!(
            delays
                .iter()
                .any(|delay| *delay > Duration::from_micros(5250))
        );
        assert!(
            delays
                .iter()
                .any(|delay| *delay < Duration::from_micros(5250))
        );
    }

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

    #[test]
    fn the_longer_of_two_delays_counts() {
        let backoff = || ExponentialBackoff::default().spread(0.0);
        let mut both = MaxOf(backoff(), TokenBucket::new(1.0, 1));
        assert_eq!(both.delay(1, NOW), Duration::from_millis(5));
        assert_eq!(both.delay(1, NOW), Duration::from_secs(1));
    }
}
