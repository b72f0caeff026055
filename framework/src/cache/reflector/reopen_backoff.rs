use std::time::Duration;

use crate::backoff::{Growth, Jitter};

/// How soon a watch that ended is opened again.
///
/// A watch that [lasted](Self::LASTED) is opened again at once, and so is the first short one. After further short
/// watches there is a minimum time between two openings. It begins at 100 ms and doubles each time: up to 1 s after a
/// watch that brought a new version, up to 30 s after one that did not, plus up to the same again at random.
#[derive(Debug)]
pub(super) struct ReopenBackoff {
    /// How many watches in a row were short.
    short: u32,
    jitter: Jitter,
}

impl ReopenBackoff {
    /// A watch that was open for this long is not short.
    pub(super) const LASTED: Duration = Duration::from_secs(5);
    const WITH_PROGRESS: Growth = Self::growth(Duration::from_secs(1));
    const WITHOUT_PROGRESS: Growth = Self::growth(Duration::from_secs(30));
    /// This many short watches in a row count as a failure.
    const FAILING: u32 = 3;

    const fn growth(longest: Duration) -> Growth {
        Growth::doubling(Duration::from_millis(100), longest).jitter(1.0)
    }

    pub(super) fn new() -> Self {
        Self {
            short: 0,
            jitter: Jitter::random(),
        }
    }

    /// Reports that a watch ended that was open for `age`. Returns how long to wait before the next one is opened.
    pub(super) fn ended(&mut self, age: Duration, has_progressed: bool) -> Duration {
        if age >= Self::LASTED {
            self.short = 0;
            return Duration::ZERO;
        }
        let before = self.short;
        self.short = before.saturating_add(1);
        let Some(doubled) = before.checked_sub(1) else {
            return Duration::ZERO;
        };
        let growth = if has_progressed {
            Self::WITH_PROGRESS
        } else {
            Self::WITHOUT_PROGRESS
        };
        if growth.least(doubled) == growth.longest {
            // A watch without progress continues from here.
            self.short = before;
        }
        growth.pause(doubled, &mut self.jitter).saturating_sub(age)
    }

    /// Reports that the server no longer has the version at which a watch should begin.
    pub(super) fn expired(&mut self) {
        self.short = self.short.saturating_add(1);
    }

    /// Reports that a watch has been open for long enough.
    pub(super) fn lasted(&mut self) {
        self.short = 0;
    }

    /// Whether the last watch was not short.
    pub(super) fn last_watch_lasted(&self) -> bool {
        self.short == 0
    }

    /// Whether so many watches in a row were short that the failure is reported.
    pub(super) fn is_failing(&self) -> bool {
        self.short >= Self::FAILING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::ZERO;

    fn delays(reopen_backoff: &mut ReopenBackoff, progress: bool, count: usize) -> Vec<f64> {
        let delay = |_| reopen_backoff.ended(SHORT, progress).as_secs_f64();
        (0..count).map(delay).collect()
    }

    #[test]
    fn the_time_between_openings_without_progress_grows() {
        let mut reopen_backoff = ReopenBackoff::new();
        let delays = delays(&mut reopen_backoff, false, 13);
        let least = [
            0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0,
        ];
        for (delay, least) in delays.into_iter().zip(least) {
            assert!((least..=least * 2.0).contains(&delay), "{delay} {least}");
        }
    }

    #[test]
    fn openings_with_progress_are_one_to_two_seconds_apart() {
        let mut reopen_backoff = ReopenBackoff::new();
        let delays = delays(&mut reopen_backoff, true, 100);
        assert!(
            delays
                .iter()
                .skip(5)
                .all(|delay| (1.0..2.0).contains(delay))
        );
        // The next one without progress is no further apart than if there had been none before.
        assert!(reopen_backoff.ended(SHORT, false) < Duration::from_secs(4));
    }

    #[test]
    fn the_time_that_a_watch_was_open_counts_towards_the_pause() {
        let mut reopen_backoff = ReopenBackoff::new();
        delays(&mut reopen_backoff, true, 50);
        let second = Duration::from_secs(1);
        assert!(reopen_backoff.ended(second, true) < second);
        assert_eq!(reopen_backoff.ended(2 * second, true), Duration::ZERO);
    }

    #[test]
    fn a_watch_that_lasted_resets_the_backoff() {
        let mut reopen_backoff = ReopenBackoff::new();
        delays(&mut reopen_backoff, false, 10);
        assert!(reopen_backoff.is_failing() && !reopen_backoff.last_watch_lasted());
        assert_eq!(
            reopen_backoff.ended(ReopenBackoff::LASTED, false),
            Duration::ZERO
        );
        assert!(reopen_backoff.last_watch_lasted());
        assert_eq!(reopen_backoff.ended(SHORT, false), Duration::ZERO);
    }
}
