use std::time::Duration;

use super::RateLimiter;
use crate::queue::Jitter;

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
        self.jitter.stretched(delay, self.spread)
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
        let delays = || {
            let mut backoff = ExponentialBackoff::default().jitter(Jitter::seeded(7));
            (0..200).map(move |_| backoff.delay(1, NOW))
        };
        assert!(delays().eq(delays()), "the same seed, the same delays");
        let delays: Vec<_> = delays().collect();
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
}
