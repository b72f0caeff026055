use std::time::Duration;

use super::{FailedKey, RateLimiter};
use crate::backoff::Jitter;

/// The delay of another limiter times a random factor, so that keys that failed together do not come back together.
/// [`ExponentialBackoff`](crate::queue::ExponentialBackoff) has this built in.
#[derive(Clone, Debug)]
pub struct Jittered<L> {
    limiter: L,
    spread: f64,
    jitter: Jitter,
}

impl<L: RateLimiter> Jittered<L> {
    /// The delay of `limiter`, times a factor from 1 to `1 + spread`. A spread above 1 counts as 1.
    pub fn new(limiter: L, spread: f64, jitter: Jitter) -> Self {
        Self {
            limiter,
            spread: spread.clamp(0.0, 1.0),
            jitter,
        }
    }
}

impl<L: RateLimiter> RateLimiter for Jittered<L> {
    fn delay(&mut self, failed: FailedKey) -> Duration {
        let delay = self.limiter.delay(failed);
        self.jitter.stretched(delay, self.spread)
    }

    fn unused(&mut self, group: u64) {
        self.limiter.unused(group);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::queue::FastSlow;

    #[test]
    fn each_delay_is_stretched_by_its_own_factor_up_to_the_spread() {
        let second = Duration::from_secs(1);
        let same = FastSlow::new(second, second, 0);
        let mut limiter = Jittered::new(same, 0.5, Jitter::seeded(7));
        let delays: BTreeSet<_> = (0..100)
            .map(|_| limiter.delay(FailedKey::after(1, Duration::ZERO)))
            .collect();
        assert_eq!(delays.len(), 100);
        assert!(*delays.first().unwrap() >= second && *delays.first().unwrap() < second * 11 / 10);
        assert!(
            *delays.last().unwrap() < second * 3 / 2 && *delays.last().unwrap() > second * 14 / 10
        );
    }
}
