use std::hash::{BuildHasher, RandomState};

/// Makes 128 bits of any bytes, which differ for different bytes but for chance. Comparable only
/// with those of the same value.
pub(super) struct Fingerprints {
    keys: [RandomState; 2],
}

impl Fingerprints {
    pub(super) fn new() -> Self {
        Self {
            keys: [RandomState::new(), RandomState::new()],
        }
    }

    pub(super) fn of(&self, bytes: &[u8]) -> u128 {
        let [high, low] = self
            .keys
            .each_ref()
            .map(|key| u128::from(key.hash_one(bytes)));
        high << 64 | low
    }
}
