use std::collections::VecDeque;

use super::core::{Run, Seat};

/// What a worker has when it asks for more.
pub(super) struct Held<K, N> {
    /// Taken and not begun, in the order of their turns.
    pub(super) runs: VecDeque<Run<K, N>>,
    /// Ended well.
    pub(super) done: Vec<Seat>,
    /// So many at most are taken at once.
    pub(super) size: usize,
}

impl<K, N> Held<K, N> {
    /// Of a worker that takes one key after the other.
    pub(super) fn one() -> Self {
        Self {
            runs: VecDeque::new(),
            done: Vec::new(),
            size: 1,
        }
    }
}
