use std::{collections::VecDeque, time::Duration};

use super::Priority;

/// A requested run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request<N> {
    pub(super) priority: Priority,
    pub(super) note: N,
}

/// The right to end a run. Each run has one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RunToken(pub(super) usize);

/// A run that begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run<K, N> {
    /// Ends the run.
    pub(super) token: RunToken,
    /// The key. No other worker gets it until the run has ended.
    pub(super) key: K,
    /// All notes since the last run began, merged.
    pub(super) note: N,
    /// The highest priority that was requested since the last run began.
    pub(super) priority: Priority,
    /// How long the key had been ready.
    pub(super) waited: Duration,
    /// How often the key failed in a row.
    pub(super) failures: u32,
    /// The hash of the name of its group.
    pub(super) group: u64,
}

/// The answer to a worker that asks for a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<K, N> {
    /// Work on this key.
    Work(Run<K, N>),
    /// No key is ready. If there is a deadline, a key may be ready then.
    Wait(Option<Duration>),
    /// The queue was shut down, and nothing is left.
    Closed,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The failures of the key are forgotten.
    Success,
    /// The failures of the key stay as they are.
    KeepFailures,
}

/// How a failed key goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often the key failed in a row, this time included.
    pub attempt: u32,
    /// How long the key waits before its next run.
    pub delay: Duration,
}

/// What a worker has when it asks for more keys.
pub(super) struct TakenRuns<K, N> {
    /// Runs that it took and did not begin, in their order.
    pub(super) unstarted: VecDeque<Run<K, N>>,
    /// Runs that succeeded, and that the queue does not know of yet.
    pub(super) finished: Vec<RunToken>,
    /// How many runs it takes at once, at most.
    pub(super) max_size: usize,
}

impl<K, N> TakenRuns<K, N> {
    /// For a worker that takes one key at a time.
    pub(super) fn one_at_a_time() -> Self {
        Self {
            unstarted: VecDeque::new(),
            finished: Vec::new(),
            max_size: 1,
        }
    }
}
