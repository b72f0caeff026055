use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the objects of a cache that turn out not to decode when they are read.
///
/// A reader of a snapshot notes how many were [marked](Self::marked) before it took the snapshot. If more have been
/// [found](Self::found) when it ends, one of them may be in the snapshot.
#[derive(Debug, Default)]
pub(in crate::cache) struct FailureCount {
    found: AtomicUsize,
    marked: AtomicUsize,
}

impl FailureCount {
    /// Notes one more, before a reader can meet it.
    pub(in crate::cache) fn note_found(&self) {
        self.found.fetch_add(1, Ordering::Release);
    }

    /// Notes that so many are marked in the state that readers see.
    pub(in crate::cache) fn note_marked(&self, objects: usize) {
        self.marked.fetch_add(objects, Ordering::Release);
    }

    /// All of them.
    pub(in crate::cache) fn found(&self) -> usize {
        self.found.load(Ordering::Acquire)
    }

    /// Those that are marked.
    pub(in crate::cache) fn marked(&self) -> usize {
        self.marked.load(Ordering::Acquire)
    }
}
