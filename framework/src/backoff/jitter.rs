use std::{
    hash::{BuildHasher, RandomState},
    ops::Range,
    time::Duration,
};

/// Random fractions, from a seed if they must be repeatable. Not for secrets.
#[derive(Clone, Debug)]
pub struct Jitter(fastrand::Rng);

impl Jitter {
    /// Seeded by the operating system.
    pub fn random() -> Self {
        // fastrand's own seeds are the time since the machine started, which replicas may share.
        Self::seeded(RandomState::new().hash_one(()))
    }

    /// Equal seeds give equal sequences.
    pub fn seeded(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// The next fraction: at least 0 and less than 1.
    pub fn fraction(&mut self) -> f64 {
        self.0.f64()
    }

    /// `delay` times a random factor from 1 to `1 + spread`. Returns [`Duration::MAX`] if the result would overflow.
    pub fn stretched(&mut self, delay: Duration, spread: f64) -> Duration {
        let more = delay.as_secs_f64() * spread * self.fraction();
        delay.saturating_add(Duration::try_from_secs_f64(more).unwrap_or(Duration::MAX))
    }

    /// Uniform in `range`.
    pub(crate) fn between(&mut self, range: Range<Duration>) -> Duration {
        let width = range.end.saturating_sub(range.start);
        range.start + width.mul_f64(self.fraction())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_fractions_from_0_to_below_1() {
        let fractions = |seed| {
            let mut jitter = Jitter::seeded(seed);
            (0..1000).map(|_| jitter.fraction()).collect::<Vec<_>>()
        };
        let found = fractions(7);
        assert_eq!(found, fractions(7));
        assert_ne!(found, fractions(8));
        assert!(found.iter().all(|one| (0.0..1.0).contains(one)));
        let mean = found.iter().sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
    }

    #[test]
    fn each_generator_without_a_seed_has_its_own_fractions() {
        let (mut one, mut other) = (Jitter::random(), Jitter::random());
        assert_ne!(one.fraction(), other.fraction());
    }

    #[test]
    fn the_longest_delay_is_not_stretched() {
        let mut jitter = Jitter::random();
        assert_eq!(jitter.stretched(Duration::MAX, 1.0), Duration::MAX);
    }

    #[test]
    fn a_duration_between_two_others_may_be_the_first_and_is_less_than_the_second() {
        let (low, high) = (Duration::from_secs(9), Duration::from_secs(10));
        let mut jitter = Jitter::seeded(7);
        assert!((0..1000).all(|_| (low..high).contains(&jitter.between(low..high))));
        assert_eq!(jitter.between(low..low), low);
    }
}
