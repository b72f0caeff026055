use std::time::Duration;

use super::RateLimiter;
use crate::queue::Jitter;

/// The delay of another limiter times a random factor, so that keys that failed together do not
/// come back together. [`ExponentialBackoff`](crate::queue::ExponentialBackoff) does so by itself.
#[derive(Clone, Debug)]
pub struct Jittered<L> {
    limiter: L,
    spread: f64,
    jitter: Jitter,
}

impl<L: RateLimiter> Jittered<L> {
    /// What `limiter` wants, times a factor from 1 to `1 + spread`; the spread is at most 1.
    pub fn new(limiter: L, spread: f64, jitter: Jitter) -> Self {
        Self {
            limiter,
            spread: spread.clamp(0.0, 1.0),
            jitter,
        }
    }
}

impl<L: RateLimiter> RateLimiter for Jittered<L> {
    fn delay(&mut self, failures: u32, now: Duration) -> Duration {
        let delay = self.limiter.delay(failures, now);
        self.jitter.stretched(delay, self.spread)
    }

    fn unused(&mut self, delays: u32) {
        self.limiter.unused(delays);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::queue::FastSlow;

    #[test]
    fn delays_are_stretched_by_up_to_the_spread_each_by_its_own() {
        let second = Duration::from_secs(1);
        let same = FastSlow::new(second, second, 0);
        let mut limiter = Jittered::new(same, 0.5, Jitter::seeded(7));
        let delays: BTreeSet<_> = (0..100).map(|_| limiter.delay(1, Duration::ZERO)).collect();
        assert_eq!(delays.len(), 100);
        assert!(*delays.first().unwrap() >= second && *delays.first().unwrap() < second * 11 / 10);
        assert!(
            *delays.last().unwrap() < second * 3 / 2 && *delays.last().unwrap() > second * 14 / 10
        );
    }
}
