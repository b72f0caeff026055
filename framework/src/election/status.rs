use std::sync::Arc;

use parking_lot::Mutex;

use crate::client::Error;

/// The role of a process in an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It waits for the Lease.
    #[default]
    StandingBy,
    /// It leads.
    Leading,
    /// It led before and does not lead any more.
    Ended,
}

/// The status of an election. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ElectionStatus {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    phase: Phase,
    leader: Option<String>,
    last_error: Option<String>,
    /// Whether the API server refused the last failed attempt: the process lacks a permission.
    is_forbidden: bool,
}

/// The status stores at most this many bytes of a holder's identity. Another program wrote it, and
/// readiness and the log show it.
const LONGEST_IDENTITY: usize = 256;

impl ElectionStatus {
    /// The role of this process.
    pub fn phase(&self) -> Phase {
        self.inner.lock().phase
    }

    /// The identity that held the Lease when it was last seen, at most its first 256 bytes. `None` if no
    /// process held it.
    pub fn leader(&self) -> Option<String> {
        self.inner.lock().leader.clone()
    }

    /// The error of the last attempt, if that attempt failed.
    pub fn last_error(&self) -> Option<String> {
        self.inner.lock().last_error.clone()
    }

    /// Whether the last attempt failed because this process lacks a permission for the Lease.
    pub fn is_forbidden(&self) -> bool {
        let inner = self.inner.lock();
        inner.last_error.is_some() && inner.is_forbidden
    }

    /// Records the holder. A new holder is logged.
    pub(super) fn led_by(&self, leader: Option<&str>) {
        let leader = leader.map(|one| &one[..one.floor_char_boundary(LONGEST_IDENTITY)]);
        let mut inner = self.inner.lock();
        inner.last_error = None;
        if inner.leader.as_deref() != leader {
            inner.leader = leader.map(str::to_owned);
            drop(inner);
            match leader {
                Some(leader) => tracing::info!(leader, "another process leads: this one stands by"),
                None => tracing::info!("no process leads"),
            }
        }
    }

    pub(super) fn won(&self, identity: &str) {
        let mut inner = self.inner.lock();
        inner.phase = Phase::Leading;
        inner.leader = Some(identity.to_owned());
        inner.last_error = None;
    }

    pub(super) fn renewed(&self) {
        self.inner.lock().last_error = None;
    }

    /// Records a failed attempt. Returns whether the error differs from the previous one.
    pub(super) fn record_failure(&self, error: &Error) -> bool {
        let text = error.to_string();
        let mut inner = self.inner.lock();
        inner.is_forbidden = error.is_forbidden();
        let before = inner.last_error.replace(text.clone());
        before.is_none_or(|before| before != text)
    }

    pub(super) fn ended(&self) {
        let mut inner = self.inner.lock();
        if inner.phase == Phase::Leading {
            inner.phase = Phase::Ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::{Deadline, ErrorKind};

    fn timeout(verb: &'static str) -> Error {
        let deadline = Deadline::Total;
        let after = Duration::from_secs(1);
        Error::new(verb, "Lease", ErrorKind::Timeout { deadline, after })
    }

    #[test]
    fn a_failure_is_reported_when_it_is_a_new_one_and_is_gone_after_a_renewal() {
        let status = ElectionStatus::default();
        assert!(status.record_failure(&timeout("get")));
        assert!(!status.record_failure(&timeout("get")));
        assert!(status.record_failure(&timeout("create")));
        assert!(status.last_error().is_some());
        status.renewed();
        assert_eq!(status.last_error(), None);
        assert!(status.record_failure(&timeout("create")));
    }

    #[test]
    fn only_what_led_has_ended() {
        let status = ElectionStatus::default();
        status.ended();
        assert_eq!(status.phase(), Phase::StandingBy);
        status.won("web-1");
        status.ended();
        assert_eq!(status.phase(), Phase::Ended);
    }

    #[test]
    fn a_long_identity_of_a_holder_is_truncated() {
        let status = ElectionStatus::default();
        status.led_by(Some(&"é".repeat(100_000)));
        assert_eq!(status.leader(), Some("é".repeat(128)));
        status.led_by(Some("web-1"));
        assert_eq!(status.leader().as_deref(), Some("web-1"));
    }
}
