use std::time::Duration;

use super::{FailedKey, RateLimiter};
use crate::backoff::{Growth, Jitter};

/// Doubles the delay with every failure: `min(base · 2ⁿ⁻¹, max)`, times a random factor from 1 to `1 + spread`, so
/// that keys that failed together do not come back together.
///
/// The defaults are 5 ms, 300 s, and a factor of up to 1.1.
#[derive(Clone, Debug)]
pub struct ExponentialBackoff {
    growth: Growth,
    jitter: Jitter,
}

impl ExponentialBackoff {
    /// From `base` to `max`, with a factor of up to 1.1.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self {
            growth: Growth::doubling(base, max).jitter(0.1),
            jitter: Jitter::random(),
        }
    }

    /// Sets the largest addition, as a fraction of the delay, from 0 (no jitter) to 1.
    #[must_use]
    pub fn spread(mut self, spread: f64) -> Self {
        self.growth.jitter = spread.clamp(0.0, 1.0);
        self
    }

    /// Uses `jitter` for the factors, so that a test can repeat them.
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
    fn delay(&mut self, failed: FailedKey) -> Duration {
        let earlier = failed.failures.saturating_sub(1);
        self.growth.pause(earlier, &mut self.jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn the_delay_doubles_from_5_ms_to_300_s() {
        let mut backoff = ExponentialBackoff::default().spread(0.0);
        let delays: Vec<_> = (1..=4)
            .map(|n| backoff.delay(FailedKey::after(n, NOW)).as_millis())
            .collect();
        assert_eq!(delays, [5, 10, 20, 40]);
        for failures in [17, 64, 65, u32::MAX] {
            assert_eq!(
                backoff.delay(FailedKey::after(failures, NOW)),
                Duration::from_secs(300)
            );
        }
    }

    #[test]
    fn the_factor_lies_between_1_and_1_1_and_varies() {
        let delays = || {
            let mut backoff = ExponentialBackoff::default().jitter(Jitter::seeded(7));
            (0..200).map(move |_| backoff.delay(FailedKey::after(1, NOW)))
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
