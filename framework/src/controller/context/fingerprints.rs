use std::hash::{BuildHasher, RandomState};

/// Makes fingerprints of 128 bits. Different bytes have different fingerprints, except by chance. Fingerprints are
/// comparable only if the same value made them: the hash has random keys.
pub(crate) struct Fingerprints {
    keys: [RandomState; 2],
}

impl Fingerprints {
    pub(crate) fn new() -> Self {
        Self {
            keys: [RandomState::new(), RandomState::new()],
        }
    }

    pub(crate) fn of(&self, bytes: &[u8]) -> u128 {
        let [high, low] = self
            .keys
            .each_ref()
            .map(|key| u128::from(key.hash_one(bytes)));
        high << 64 | low
    }
}
