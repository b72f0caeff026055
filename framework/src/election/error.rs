use std::fmt;

use crate::client;

/// Why there is no election, or a lease was not handed over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionError {
    /// The settings are wrong: names that DNS does not know, or times that contradict each other.
    #[error("leader election: {0}")]
    Settings(String),
    /// The Lease could not be given back; it passes on when it expires.
    #[error("leader election: the lease was not given back: {0}")]
    Release(#[source] client::Error),
}

/// Why a request was not sent: this process does not lead any more.
#[derive(Clone, Debug)]
pub struct NotLeading {
    pub(super) lease: String,
}

impl fmt::Display for NotLeading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this process no longer leads: Lease {} was lost",
            self.lease
        )
    }
}

impl std::error::Error for NotLeading {}
