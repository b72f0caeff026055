use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// How often something is tried, and how long the pauses between are (client-go's `wait.Backoff`).
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    /// How often it is tried at most, the first time included.
    pub steps: u32,
    /// The first pause.
    pub pause: Duration,
    /// What each further pause is the last one times of.
    pub factor: u32,
    /// The longest pause, before [`jitter`](Self::jitter).
    pub longest: Duration,
    /// Up to this part of a pause is added to it at random.
    pub jitter: f64,
}

/// Five times, 10 ms apart: for writers who seldom meet (client-go's `DefaultRetry`).
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
    /// Four times, 10 ms, 50 ms and 250 ms apart: for an object that many write at the same time
    /// (client-go's `DefaultBackoff`).
    pub fn contended() -> Self {
        Self {
            steps: 4,
            factor: 5,
            ..Self::default()
        }
    }

    /// The pause after try number `tried`, counted from 1.
    pub(crate) fn after(&self, tried: u32) -> Duration {
        let times = self.factor.saturating_pow(tried.saturating_sub(1));
        let pause = self.pause.saturating_mul(times).min(self.longest);
        let more = random_fraction() * self.jitter.clamp(0.0, 1.0);
        pause + pause.mul_f64(more)
    }
}

/// Between 0 and 1. The keys of the standard library's hash differ each time; that is random enough to spread clients.
pub(crate) fn random_fraction() -> f64 {
    let random = f64::from((RandomState::new().hash_one(0) >> 32) as u32);
    random / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest_with_jitter_on_top() {
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
