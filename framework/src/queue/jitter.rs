use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// Random fractions, from a seed if they have to be repeatable. Not for secrets.
#[derive(Clone, Debug)]
pub struct Jitter {
    state: u64,
}

impl Jitter {
    /// Seeded by the operating system.
    pub fn random() -> Self {
        Self::seeded(RandomState::new().hash_one(()))
    }

    /// The same sequence for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next fraction, at least 0 and less than 1.
    pub fn fraction(&mut self) -> f64 {
        // SplitMix64 (Steele, Lea, Flood 2014): a counter through a mixing function.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `delay` times a factor from 1 to `1 + spread`.
    pub fn stretched(&mut self, delay: Duration, spread: f64) -> Duration {
        let stretched = delay.as_secs_f64() * (1.0 + spread * self.fraction());
        Duration::try_from_secs_f64(stretched).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fractions_are_those_of_splitmix64() {
        let mut jitter = Jitter::seeded(1_234_567);
        // The first numbers for this seed, of which 53 bits are used.
        for bits in [
            6_457_827_717_110_365_317_u64,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ] {
            let expected = (bits >> 11) as f64 / 2_f64.powi(53);
            assert_eq!(jitter.fraction(), expected);
        }
    }

    #[test]
    fn what_cannot_be_stretched_stays_the_longest() {
        let mut jitter = Jitter::random();
        assert_eq!(jitter.stretched(Duration::MAX, 1.0), Duration::MAX);
    }
}
