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
