use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Phase;
use crate::client::Error;

/// How an election is doing; cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct ElectionStatus {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    phase: Phase,
    leader: Option<String>,
    trouble: Option<String>,
}

/// The status keeps no more bytes of a holder's identity: another program wrote it, and readiness and the log show it.
const LONGEST_IDENTITY: usize = 256;

impl ElectionStatus {
    /// What this process is.
    pub fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// The identity that held the Lease when it was last seen, its first 256 bytes; `None` if nobody held it.
    pub fn leader(&self) -> Option<String> {
        self.lock().leader.clone()
    }

    /// Why the last attempt failed, if it did.
    pub fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    /// Another leader than before is told in the log.
    pub(super) fn led_by(&self, leader: Option<&str>) {
        let leader = leader.map(|one| &one[..one.floor_char_boundary(LONGEST_IDENTITY)]);
        let mut inner = self.lock();
        inner.trouble = None;
        if inner.leader.as_deref() != leader {
            inner.leader = leader.map(str::to_owned);
            drop(inner);
            match leader {
                Some(leader) => tracing::info!(leader, "another process leads: standing by"),
                None => tracing::info!("nobody leads"),
            }
        }
    }

    pub(super) fn won(&self, identity: &str) {
        let mut inner = self.lock();
        inner.phase = Phase::Leading;
        inner.leader = Some(identity.to_owned());
        inner.trouble = None;
    }

    pub(super) fn renewed(&self) {
        self.lock().trouble = None;
    }

    /// Whether it is another trouble than before, or the first.
    pub(super) fn troubled(&self, error: &Error) -> bool {
        let text = error.to_string();
        let before = self.lock().trouble.replace(text.clone());
        before.is_none_or(|before| before != text)
    }

    pub(super) fn ended(&self) {
        let mut inner = self.lock();
        if inner.phase == Phase::Leading {
            inner.phase = Phase::Ended;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_identity_of_a_holder_is_cut() {
        let status = ElectionStatus::default();
        status.led_by(Some(&"é".repeat(100_000)));
        assert_eq!(status.leader(), Some("é".repeat(128)));
        status.led_by(Some("web-1"));
        assert_eq!(status.leader().as_deref(), Some("web-1"));
    }
}
