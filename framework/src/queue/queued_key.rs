use std::time::Duration;

use super::Priority;

/// A key as the queue knows it at one moment, for people to look at: see [`WorkQueue::keys`](super::WorkQueue::keys).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedKey<K> {
    /// The key.
    pub key: K,
    /// What it does.
    pub state: KeyState,
    /// How long until the next run begins at the latest; `None` if the key has no deadline.
    pub due_in: Option<Duration>,
    /// How often it failed in a row.
    pub failures: u32,
    /// The priority of the next run.
    pub priority: Priority,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Nothing. It may have a deadline.
    Idle,
    /// It is ready and waits for a worker.
    Waiting,
    /// A worker has it.
    Running {
        /// For how long the worker has had it.
        since: Duration,
        /// Whether another run was requested meanwhile.
        again: bool,
    },
}

impl<K> QueuedKey<K> {
    /// Whether a worker has the key or the key has failed: those are the keys that people look for first.
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
