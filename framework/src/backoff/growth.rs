use std::time::Duration;

use super::Jitter;

/// How pauses grow: the first one, each further one a multiple of the one before, up to a longest one, and a random part
/// of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Growth {
    /// The first pause.
    pub(crate) first: Duration,
    /// Each further pause is this many times the one before.
    pub(crate) factor: u32,
    /// The longest pause, before the random part.
    pub(crate) longest: Duration,
    /// The random part of a pause is at most this fraction of it, and is added.
    pub(crate) jitter: f64,
}

impl Growth {
    /// Each pause is twice the one before. There is no random part.
    pub(crate) const fn doubling(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            factor: 2,
            longest,
            jitter: 0.0,
        }
    }

    pub(crate) const fn jitter(mut self, jitter: f64) -> Self {
        self.jitter = jitter;
        self
    }

    /// The pause after `earlier` pauses, without its random part.
    pub(crate) fn least(&self, earlier: u32) -> Duration {
        let times = u128::from(self.factor).saturating_pow(earlier);
        let nanos = self.first.as_nanos().saturating_mul(times);
        Duration::from_nanos_u128(nanos.min(self.longest.as_nanos()))
    }

    /// The pause after `earlier` pauses.
    pub(crate) fn pause(&self, earlier: u32, jitter: &mut Jitter) -> Duration {
        jitter.stretched(self.least(earlier), self.jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pauses_double_up_to_the_longest() {
        let growth = Growth::doubling(SECOND, 6 * SECOND);
        let seconds: Vec<_> = (0..5).map(|n| growth.least(n).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 6, 6]);
        assert_eq!(growth.pause(3, &mut Jitter::random()), 6 * SECOND);
    }

    #[test]
    fn any_number_of_pauses_has_a_pause() {
        for earlier in [31, 32, 63, 64, 127, 128, u32::MAX] {
            let growth = Growth::doubling(Duration::from_nanos(1), Duration::MAX);
            assert!(growth.least(earlier) >= 2 * SECOND, "{earlier}");
        }
        let longest = Growth::doubling(Duration::MAX, Duration::MAX).jitter(1.0);
        assert_eq!(
            longest.pause(u32::MAX, &mut Jitter::random()),
            Duration::MAX
        );
        let nothing = Growth::doubling(Duration::ZERO, SECOND);
        assert_eq!(nothing.least(u32::MAX), Duration::ZERO);
    }

    #[test]
    fn the_factor_may_be_another() {
        let times = |factor| Growth {
            factor,
            ..Growth::doubling(SECOND, Duration::MAX)
        };
        assert_eq!(times(5).least(2), 25 * SECOND);
        assert_eq!(times(1).least(u32::MAX), SECOND);
    }

    #[test]
    fn the_first_pause_may_be_longer_than_the_longest_one() {
        assert_eq!(Growth::doubling(2 * SECOND, SECOND).least(0), SECOND);
    }

    #[test]
    fn the_random_part_is_at_most_the_given_fraction_and_varies() {
        let growth = Growth::doubling(SECOND, SECOND).jitter(0.5);
        let mut jitter = Jitter::seeded(7);
        let pauses: Vec<_> = (0..100).map(|n| growth.pause(n, &mut jitter)).collect();
        assert!(
            pauses
                .iter()
                .all(|one| (SECOND..SECOND * 3 / 2).contains(one))
        );
        assert!(pauses.iter().any(|one| *one < SECOND * 11 / 10));
        assert!(pauses.iter().any(|one| *one > SECOND * 14 / 10));
    }
}
