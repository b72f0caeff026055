//! The only source of time, randomness and names.

use parking_lot::Mutex;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use tokio::time::Instant;

/// Time and randomness of one sandbox.
///
/// Time starts at an epoch and follows tokio's clock, so a paused clock stops it too. Without an epoch it is the time of the
/// machine, also after the machine was suspended, when tokio's clock is behind. A test can move it forward and stop it. Everything random (UIDs, name
/// suffixes, addresses) comes from one seeded generator: two sandboxes with the same seed and epoch that get the same
/// requests in the same order return the same responses.
pub(crate) struct Clock {
    /// The time at which the clock started; `None` for the machine's own time.
    epoch: Option<Timestamp>,
    started: Instant,
    setting: watch::Sender<Setting>,
    random: Mutex<fastrand::Rng>,
}

/// How a test has set the clock.
#[derive(Clone, Copy, Default)]
struct Setting {
    /// How far it is ahead.
    ahead: SignedDuration,
    /// Where it stands still.
    stopped: Option<Stopped>,
}

#[derive(Clone, Copy)]
struct Stopped {
    moment: SignedDuration,
    time: Timestamp,
}

/// A moment of a clock: the time that it has shown since its start.
pub(crate) type Moment = Duration;

/// Letters of generated names: no vowels, so that no words appear.
const NAME_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Clock {
    pub(crate) fn new(epoch: Option<Timestamp>, seed: u64) -> Self {
        Self {
            epoch,
            started: Instant::now(),
            setting: watch::Sender::default(),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let setting = *self.setting.borrow();
        let unset = || match self.epoch {
            Some(epoch) => later(epoch, self.passed()),
            None => Timestamp::now(),
        };
        match setting.stopped {
            Some(stopped) => stopped.time,
            None => later(unset(), setting.ahead),
        }
    }

    /// The present moment.
    pub(crate) fn moment(&self) -> Moment {
        let setting = *self.setting.borrow();
        let moment = match setting.stopped {
            Some(stopped) => stopped.moment,
            None => self.passed().saturating_add(setting.ahead),
        };
        moment.try_into().unwrap_or_default()
    }

    /// The time since a moment.
    pub(crate) fn since(&self, moment: Moment) -> Duration {
        self.moment().saturating_sub(moment)
    }

    /// Waits for a moment.
    pub(crate) async fn sleep_until(&self, due: Moment) {
        let mut changes = self.setting.subscribe();
        loop {
            let is_stopped = changes.borrow_and_update().stopped.is_some();
            let rest = due.saturating_sub(self.moment());
            if rest.is_zero() {
                return;
            }
            // Both branches only wait, so losing one loses nothing.
            tokio::select! {
                () = tokio::time::sleep(rest), if !is_stopped => {}
                // The sender is in `self`, so the wait cannot fail.
                _ = changes.changed() => {}
            }
        }
    }

    /// Moves the clock forward.
    pub(crate) fn advance(&self, by: Duration) {
        let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
        self.setting
            .send_modify(|setting| match &mut setting.stopped {
                Some(stopped) => {
                    stopped.moment = stopped.moment.saturating_add(by);
                    stopped.time = later(stopped.time, by);
                }
                None => setting.ahead = setting.ahead.saturating_add(by),
            });
    }

    /// Stops the clock.
    pub(crate) fn pause(&self) {
        let (time, passed) = (self.now(), self.passed());
        self.setting.send_modify(|setting| {
            let moment = passed.saturating_add(setting.ahead);
            setting.stopped.get_or_insert(Stopped { moment, time });
        });
    }

    /// Lets the clock run.
    pub(crate) fn resume(&self) {
        let passed = self.passed();
        self.setting.send_modify(|setting| {
            if let Some(stopped) = setting.stopped.take() {
                setting.ahead = stopped.moment.saturating_sub(passed);
            }
        });
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.setting.borrow().stopped.is_some()
    }

    /// The time since the start by tokio's clock.
    fn passed(&self) -> SignedDuration {
        SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX)
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

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
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

    #[tokio::test(start_paused = true)]
    async fn a_stopped_clock_moves_only_when_it_is_moved_and_then_runs_on() {
        for epoch in [Some(Timestamp::UNIX_EPOCH), None] {
            let clock = Clock::new(epoch, 1);
            let begun = clock.now();
            let shown = |clock: &Clock| clock.now().duration_since(begun).as_millis() / 1000;
            clock.advance(Duration::from_secs(3600));
            assert_eq!((shown(&clock), clock.moment().as_secs()), (3600, 3600));
            clock.pause();
            tokio::time::advance(Duration::from_secs(50)).await;
            assert_eq!((shown(&clock), clock.moment().as_secs()), (3600, 3600));
            clock.advance(Duration::from_secs(60));
            assert_eq!((shown(&clock), clock.moment().as_secs()), (3660, 3660));
            clock.resume();
            tokio::time::advance(Duration::from_secs(7)).await;
            assert_eq!(clock.moment().as_secs(), 3667);
            if epoch.is_some() {
                assert_eq!(shown(&clock), 3667);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_a_moment_wakes_when_the_clock_is_moved_there() {
        let clock = Clock::new(Some(Timestamp::UNIX_EPOCH), 1);
        let begun = Instant::now();
        clock.pause();
        let due = Duration::from_secs(3600);
        let (waited, ()) = tokio::join!(
            async {
                clock.sleep_until(due).await;
                begun.elapsed()
            },
            async {
                tokio::time::sleep(Duration::from_secs(7200)).await;
                clock.resume();
                tokio::time::sleep(Duration::from_secs(5)).await;
                clock.advance(due);
            }
        );
        assert_eq!(waited, Duration::from_secs(7205));
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
