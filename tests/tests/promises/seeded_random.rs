use std::sync::Arc;

use parking_lot::Mutex;

/// Random numbers that are the same for the same seed (xorshift). Clones share the state.
#[derive(Clone)]
pub(crate) struct SeededRandom(Arc<Mutex<u64>>);

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> Self {
        // The state must not be zero, and must differ also for similar seeds.
        let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Self(Arc::new(Mutex::new(state)))
    }

    pub(crate) fn below(&self, end: u64) -> u64 {
        let mut state = self.0.lock();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 11) % end
    }

    pub(crate) fn percent(&self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// Returns the seeds of a test: `count` seeds from `first`, or the one in `PILOTHOUSE_SEED`.
pub(crate) fn seeds(first: u64, count: u64) -> Vec<u64> {
    match std::env::var("PILOTHOUSE_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (first..first + count).collect(),
    }
}
