use crate::client;

/// An error of a leader election.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionError {
    /// The settings are invalid: a name is not a DNS name, the identity is empty, or the durations
    /// contradict each other.
    #[error("leader election: {0}")]
    Settings(String),
    /// The Lease was not released. Another candidate takes it when it expires.
    #[error("leader election: releasing the Lease failed, it passes on when it expires: {0}")]
    Release(#[source] client::Error),
}

/// The error of a request that was not sent because this process does not lead any more.
#[derive(Clone, Debug, thiserror::Error)]
#[error("this process no longer leads: Lease {lease} was lost")]
pub struct NotLeading {
    pub(super) lease: String,
}
