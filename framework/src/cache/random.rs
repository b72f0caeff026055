use std::{
    hash::{BuildHasher, RandomState},
    ops::Range,
    time::Duration,
};

/// Spreads times so that many clients do not act at once. Not for secrets.
#[derive(Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// Different in every process and for every call: the standard library's hash keys are.
    pub(super) fn new() -> Self {
        Self {
            state: RandomState::new().hash_one(0),
        }
    }

    /// Uniform in `range`.
    pub(super) fn duration(&mut self, range: Range<Duration>) -> Duration {
        let width = range.end.saturating_sub(range.start);
        range.start + width.mul_f64(self.fraction())
    }

    /// SplitMix64 (Steele, Lea, Flood 2014), reduced to [0, 1).
    fn fraction(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}
