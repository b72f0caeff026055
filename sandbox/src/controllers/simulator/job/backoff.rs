use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::pod::finished_at;

const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(600);

/// The failures of a Job's Pods since one succeeded last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    pub(super) failures: u32,
    pub(super) last: Option<Timestamp>,
}

impl Backoff {
    /// Counts Pods that have ended since.
    pub(super) fn count(&mut self, succeeded: &[&Value], failed: &[&Value]) {
        let success = succeeded.iter().filter_map(|pod| finished_at(pod)).max();
        if !succeeded.is_empty() {
            *self = Self::default();
        }
        for failure in failed.iter().filter_map(|pod| finished_at(pod)) {
            if success.is_none_or(|success| failure > success) {
                self.failures = self.failures.saturating_add(1);
                self.last = self.last.max(Some(failure));
            }
        }
    }

    /// How long no Pod may be created.
    pub(super) fn rest(&self, now: Timestamp) -> Option<Duration> {
        let doublings = self.failures.checked_sub(1)?;
        let pause = FIRST
            .saturating_mul(2_u32.saturating_pow(doublings))
            .min(LONGEST);
        let pause = SignedDuration::try_from(pause).ok()?;
        let rest = pause - now.duration_since(self.last?);
        Duration::try_from(rest).ok().filter(|rest| !rest.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(second: u32) -> Value {
        let time = format!("2026-01-01T00:00:{second:02}Z");
        json!({"status": {"containerStatuses": [{"state": {"terminated": {"finishedAt": time}}}]}})
    }

    #[test]
    fn the_pause_doubles_with_each_failure_up_to_ten_minutes() {
        let now: Timestamp = "2026-01-01T00:00:05Z".parse().unwrap();
        let mut backoff = Backoff::default();
        assert_eq!(backoff.rest(now), None);
        backoff.count(&[], &[&pod(5)]);
        assert_eq!(backoff.rest(now), Some(Duration::from_secs(10)));
        backoff.count(&[], &[&pod(3), &pod(4)]);
        assert_eq!(backoff.rest(now), Some(Duration::from_secs(40)));
        backoff.failures = 1_000;
        assert_eq!(backoff.rest(now), Some(Duration::from_secs(600)));
    }

    #[test]
    fn a_success_forgets_the_failures_before_it() {
        let mut backoff = Backoff::default();
        backoff.count(&[], &[&pod(1)]);
        backoff.count(&[&pod(5)], &[&pod(4), &pod(6)]);
        assert_eq!(backoff.failures, 1);
    }
}
