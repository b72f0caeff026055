use std::collections::VecDeque;

use super::run::{Run, RunToken};

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
