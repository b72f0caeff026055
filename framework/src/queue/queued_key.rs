use std::time::Duration;

use super::Priority;

/// A key as a queue knows it at one moment, for people to look at: see
/// [`WorkQueue::keys`](super::WorkQueue::keys).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedKey<K> {
    /// The key.
    pub key: K,
    /// What it does.
    pub state: KeyState,
    /// The run that is to come begins after this at the latest, if there is a deadline for it.
    pub due_in: Option<Duration>,
    /// How often it failed in a row.
    pub failures: u32,
    /// Of the run that is to come.
    pub priority: Priority,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Nothing; it may have a deadline.
    Idle,
    /// It is ready, and waits for a worker.
    Waiting,
    /// A worker has it, for that long.
    Running {
        /// For how long.
        since: Duration,
        /// Whether another run has been asked for meanwhile.
        again: bool,
    },
}

impl<K> QueuedKey<K> {
    /// Whether it is with a worker, or has failed: what somebody who looks at a queue looks for first.
    pub(super) fn is_notable(&self) -> bool {
        self.failures > 0 || matches!(self.state, KeyState::Running { .. })
    }
}

impl<K: Clone> QueuedKey<&K> {
    pub(super) fn cloned(self) -> QueuedKey<K> {
        QueuedKey {
            key: self.key.clone(),
            state: self.state,
            due_in: self.due_in,
            failures: self.failures,
            priority: self.priority,
        }
    }
}
