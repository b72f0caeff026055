use std::time::Duration;

use super::{Growth, Jitter};

/// The pauses of one loop: they grow with each failure in a row, and start over after what was tried worked for a while.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    growth: Growth,
    lasting: Duration,
    failures: u32,
    jitter: Jitter,
}

impl Backoff {
    /// A success counts once it has lasted for `lasting`. A server that accepts a request and breaks it at once
    /// does not reset the pauses.
    pub(crate) fn new(growth: Growth, lasting: Duration) -> Self {
        Self {
            growth,
            lasting,
            failures: 0,
            jitter: Jitter::random(),
        }
    }

    /// The pause after one more failure.
    pub(crate) fn next(&mut self) -> Duration {
        let earlier = self.failures;
        self.failures = earlier.saturating_add(1);
        self.growth.pause(earlier, &mut self.jitter)
    }

    /// Reports that what was tried worked for `time`. Returns whether that resets the pauses.
    pub(crate) fn worked_for(&mut self, time: Duration) -> bool {
        let is_enough = time >= self.lasting;
        if is_enough {
            self.reset();
        }
        is_enough
    }

    /// The next pause is the first one again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// Whether there was no failure since the last reset.
    pub(crate) fn is_reset(&self) -> bool {
        self.failures == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn only_what_lasted_resets_the_pauses() {
        let mut backoff = Backoff::new(Growth::doubling(SECOND, 9 * SECOND), 5 * SECOND);
        assert!(backoff.is_reset());
        assert_eq!([backoff.next(), backoff.next()], [SECOND, 2 * SECOND]);
        assert!(!backoff.worked_for(4 * SECOND) && !backoff.is_reset());
        assert_eq!(backoff.next(), 4 * SECOND);
        assert!(backoff.worked_for(5 * SECOND) && backoff.is_reset());
        assert_eq!(backoff.next(), SECOND);
        backoff.reset();
        assert_eq!(backoff.next(), SECOND);
    }

    #[test]
    fn each_pause_has_its_own_random_part() {
        let growth = Growth::doubling(SECOND, SECOND).jitter(1.0);
        let mut backoff = Backoff::new(growth, SECOND);
        let pauses = [backoff.next(), backoff.next()];
        assert!(pauses.iter().all(|one| (SECOND..2 * SECOND).contains(one)));
        assert_ne!(pauses[0], pauses[1]);
    }
}
