use std::time::Duration;

use crate::backoff::{Growth, Jitter};

/// How many attempts to make, and how long to pause between them (client-go's `wait.Backoff`).
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// The number of attempts, the first one included.
    pub steps: u32,
    /// The first pause.
    pub pause: Duration,
    /// Each further pause is this many times the one before.
    pub factor: u32,
    /// The longest pause, before [`jitter`](Self::jitter).
    pub longest: Duration,
    /// A random part of each pause is added to it: at most this fraction.
    pub jitter: f64,
}

/// Five attempts with pauses of 10 ms: for writers that seldom conflict (client-go's `DefaultRetry`).
impl Default for Backoff {
    fn default() -> Self {
        Self {
            steps: 5,
            pause: Duration::from_millis(10),
            factor: 1,
            longest: Duration::from_secs(60),
            jitter: 0.1,
        }
    }
}

impl Backoff {
    /// Four attempts with pauses of 10 ms, 50 ms and 250 ms: for an object with many writers (client-go's
    /// `DefaultBackoff`).
    pub fn contended() -> Self {
        Self {
            steps: 4,
            factor: 5,
            ..Self::default()
        }
    }

    /// The pause after attempt number `tried`, counted from 1.
    pub(crate) fn after(&self, tried: u32) -> Duration {
        let growth = Growth {
            first: self.pause,
            factor: self.factor,
            longest: self.longest,
            jitter: self.jitter.clamp(0.0, 1.0),
        };
        growth.pause(tried.saturating_sub(1), &mut Jitter::random())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_limit_plus_jitter() {
        let backoff = Backoff {
            longest: Duration::from_millis(400),
            ..Backoff::contended()
        };
        for (tried, pause) in [(1, 10), (2, 50), (3, 250), (4, 400), (u32::MAX, 400)] {
            let least = Duration::from_millis(pause);
            let found = backoff.after(tried);
            assert!(found >= least && found <= least.mul_f64(1.1), "{found:?}");
        }
        assert_eq!(Backoff::default().factor, 1);
    }
}
