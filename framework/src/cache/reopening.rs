use std::time::Duration;

use super::random::Random;

/// How soon a watch that ended is opened again.
///
/// A watch that [lasted](Self::LASTED) is opened again at once, and so is the first one that did not. After further
/// short ones a minimum time lies between two openings. It begins at 100 ms and doubles with each of them: up to 1 s
/// after a watch that brought a new version, up to 30 s after one that did not, and up to as much again at random.
#[derive(Debug)]
pub(super) struct Reopening {
    /// How many watches in a row were short.
    short: u32,
    random: Random,
}

impl Reopening {
    /// A watch that was open for so long is not short.
    pub(super) const LASTED: Duration = Duration::from_secs(5);
    const FIRST: Duration = Duration::from_millis(100);
    const LONGEST_WITH_PROGRESS: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(30);
    /// So many short watches in a row are more than bad luck.
    const FAILING: u32 = 3;

    pub(super) fn new() -> Self {
        Self {
            short: 0,
            random: Random::new(),
        }
    }

    /// A watch that was open for `age` ended; answers how long to wait before the next one is opened.
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
        let longest = if has_progressed {
            Self::LONGEST_WITH_PROGRESS
        } else {
            Self::LONGEST
        };
        let floor = Self::FIRST.saturating_mul(2u32.saturating_pow(doubled));
        if floor > longest {
            // What comes without progress begins from here.
            self.short = before;
        }
        let floor = floor.min(longest);
        self.random.duration(floor..floor * 2).saturating_sub(age)
    }

    /// The server has forgotten the version that a watch was to begin at.
    pub(super) fn expired(&mut self) {
        self.short = self.short.saturating_add(1);
    }

    /// A watch is open for long enough.
    pub(super) fn lasted(&mut self) {
        self.short = 0;
    }

    /// Whether the last watch was not short.
    pub(super) fn is_well(&self) -> bool {
        self.short == 0
    }

    /// Whether so many watches in a row were short that this is to be told.
    pub(super) fn is_failing(&self) -> bool {
        self.short >= Self::FAILING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::ZERO;

    fn delays(reopening: &mut Reopening, progress: bool, count: usize) -> Vec<f64> {
        let delay = |_| reopening.ended(SHORT, progress).as_secs_f64();
        (0..count).map(delay).collect()
    }

    #[test]
    fn openings_without_progress_are_ever_further_apart() {
        let mut reopening = Reopening::new();
        let delays = delays(&mut reopening, false, 13);
        let least = [
            0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0,
        ];
        for (delay, least) in delays.into_iter().zip(least) {
            assert!((least..=least * 2.0).contains(&delay), "{delay} {least}");
        }
    }

    #[test]
    fn openings_with_progress_are_a_second_apart_at_least_and_two_at_most() {
        let mut reopening = Reopening::new();
        let delays = delays(&mut reopening, true, 100);
        assert!(
            delays
                .iter()
                .skip(5)
                .all(|delay| (1.0..2.0).contains(delay))
        );
        // The next one without progress is no further apart than if there had been none before.
        assert!(reopening.ended(SHORT, false) < Duration::from_secs(4));
    }

    #[test]
    fn the_time_that_a_watch_was_open_counts() {
        let mut reopening = Reopening::new();
        delays(&mut reopening, true, 50);
        let second = Duration::from_secs(1);
        assert!(reopening.ended(second, true) < second);
        assert_eq!(reopening.ended(2 * second, true), Duration::ZERO);
    }

    #[test]
    fn a_watch_that_lasted_starts_over() {
        let mut reopening = Reopening::new();
        delays(&mut reopening, false, 10);
        assert!(reopening.is_failing() && !reopening.is_well());
        assert_eq!(reopening.ended(Reopening::LASTED, false), Duration::ZERO);
        assert!(reopening.is_well());
        assert_eq!(reopening.ended(SHORT, false), Duration::ZERO);
    }
}
