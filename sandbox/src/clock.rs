//! The only source of time, randomness and names.

use parking_lot::Mutex;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Time and randomness of one sandbox.
///
/// Time starts at an epoch and follows tokio's clock, so a paused clock stops it too. Without an epoch it is the time of the
/// machine, also after the machine was suspended, when tokio's clock is behind. Everything random (UIDs, name
/// suffixes, addresses) comes from one seeded generator: two sandboxes with the same seed and epoch that get the same
/// requests in the same order return the same responses.
pub(crate) struct Clock {
    /// The time at which the clock started; `None` for the machine's own time.
    epoch: Option<Timestamp>,
    started: Instant,
    random: Mutex<fastrand::Rng>,
}

/// Letters of generated names: no vowels, so that no words appear.
const NAME_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Clock {
    pub(crate) fn new(epoch: Option<Timestamp>, seed: u64) -> Self {
        Self {
            epoch,
            started: Instant::now(),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let Some(epoch) = self.epoch else {
            return Timestamp::now();
        };
        let elapsed =
            SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX);
        epoch.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }

    /// The current time as `metav1.Time` writes it: `2026-01-01T00:00:00Z`.
    pub(crate) fn timestamp(&self) -> String {
        seconds(self.now())
    }

    /// The time `after` from now as `metav1.Time` writes it.
    pub(crate) fn timestamp_in(&self, after: Duration) -> String {
        seconds(self.after(after))
    }

    /// A version 4 UUID.
    pub(crate) fn uid(&self) -> String {
        let bits = self.with_random(|random| random.u128(..));
        let bits = (bits & !(0xf000 << 64) & !(0xc000 << 48)) | (0x4000 << 64) | (0x8000 << 48);
        let hex = format!("{bits:032x}");
        let parts =
            [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| hex.get(range).unwrap_or_default());
        parts.join("-")
    }

    /// The five letters that the server appends to `generateName`.
    pub(crate) fn suffix(&self) -> String {
        self.with_random(|random| {
            (0..5)
                .filter_map(|_| NAME_LETTERS.get(random.usize(..NAME_LETTERS.len())))
                .map(|&letter| char::from(letter))
                .collect()
        })
    }

    /// Bytes that cannot be guessed without the seed.
    pub(crate) fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.with_random(|random| random.fill(&mut bytes));
        bytes
    }

    /// The time `after` from now.
    pub(crate) fn after(&self, after: Duration) -> Timestamp {
        let after = SignedDuration::try_from(after).unwrap_or(SignedDuration::MAX);
        self.now().saturating_add(after).unwrap_or(Timestamp::MAX)
    }

    /// A random number below `end`. `end` must be at least 1.
    pub(crate) fn below(&self, end: u64) -> u64 {
        self.with_random(|random| random.u64(..end.max(1)))
    }

    fn with_random<T>(&self, take: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        take(&mut self.random.lock())
    }
}

fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_follows_the_paused_clock() {
        let clock = Clock::new(Some(Timestamp::UNIX_EPOCH), 1);
        assert_eq!(clock.timestamp(), "1970-01-01T00:00:00Z");
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(clock.timestamp(), "1970-01-01T00:01:01Z");
        assert_eq!(
            clock.timestamp_in(Duration::from_secs(9)),
            "1970-01-01T00:01:10Z"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_epoch_it_is_the_time_of_the_machine() {
        let clock = Clock::new(None, 1);
        tokio::time::advance(Duration::from_secs(86_400)).await;
        let late = clock.now().duration_since(Timestamp::now());
        assert!(late.abs() < SignedDuration::from_hours(1), "{late}");
    }

    #[tokio::test]
    async fn equal_seeds_give_equal_uids_of_version_4() {
        let (one, two) = (
            Clock::new(Some(Timestamp::UNIX_EPOCH), 7),
            Clock::new(None, 7),
        );
        let uid = one.uid();
        assert_eq!(uid, two.uid());
        assert_ne!(uid, one.uid());
        let letters: Vec<char> = uid.chars().collect();
        assert_eq!((uid.len(), letters[14]), (36, '4'));
        assert!("89ab".contains(letters[19]), "{uid}");
    }
}
