use std::time::Duration;

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
