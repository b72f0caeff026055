use std::{fmt, hash::Hash, sync::Arc, time::Duration};

use super::{
    Note, Work,
    inner::{PerWorkerArc, QueueInner},
    run::TakenRuns,
};

/// Several keys that one worker takes from the queue at once.
///
/// Workers whose work is quick would otherwise wait longer for the queue's lock than they work. A batch takes one key at
/// first and up to 16 later, as long as the work on each key is quick. A worker that is going to wait for something calls
/// [`return_unstarted`](Self::return_unstarted) first, so that other workers can take those keys. A ready key therefore
/// waits for another key's work only where that work blocks the thread anyway.
///
/// A key in the batch belongs to this worker alone, like a key that [`WorkQueue::get`](super::WorkQueue::get) returned.
/// The order among the keys is decided when they are taken.
pub struct WorkBatch<K: Clone + Eq + Hash, N: Note = ()> {
    inner: PerWorkerArc<QueueInner<K, N>>,
    taken: TakenRuns<K, N>,
    /// When keys were last taken.
    taken_at: Duration,
    /// When the last work began or ended.
    now: Duration,
}

/// Larger batches gain nothing.
const MAX_SIZE: usize = 16;
/// If the work on a batch took longer, the next one has a single key: a batch would gain nothing, and other workers could
/// have begun the other keys earlier.
const MAX_WORK_TIME: Duration = Duration::from_micros(100);

impl<K: Clone + Eq + Hash, N: Note> WorkBatch<K, N> {
    pub(super) fn new(inner: &Arc<QueueInner<K, N>>) -> Self {
        let now = inner.now();
        Self {
            inner: Arc::new(inner.clone()),
            taken: TakenRuns {
                max_size: 0,
                ..TakenRuns::one_at_a_time()
            },
            taken_at: now,
            now,
        }
    }

    /// Returns the next key to work on. If the batch is empty, waits as [`WorkQueue::get`](super::WorkQueue::get) does.
    /// Returns `None` when the queue was shut down and is empty.
    ///
    /// The future may be dropped: each key was either returned, or is still in the batch or in the queue.
    pub async fn next(&mut self) -> Option<Work<K, N>> {
        if self.taken.unstarted.is_empty() {
            let is_quick = self.now.saturating_sub(self.taken_at) < MAX_WORK_TIME;
            let size = if is_quick { self.taken.max_size * 2 } else { 1 };
            self.taken.max_size = size.clamp(1, MAX_SIZE);
            self.taken_at = self.inner.take(&mut self.taken).await;
            self.now = self.taken_at;
        }
        let run = self.taken.unstarted.pop_front()?;
        Some(Work::new(run, self.inner.clone()))
    }

    /// Like [`Work::done`], but the queue learns of it only when this batch takes more keys or returns the unstarted ones.
    pub fn done(&mut self, mut work: Work<K, N>) {
        if !Arc::ptr_eq(&self.inner, &work.inner) {
            return work.done();
        }
        if let Some(token) = work.token.take() {
            let now = self.inner.now();
            self.inner.finished(now.saturating_sub(self.now));
            self.now = now;
            self.taken.finished.push(token);
        }
    }

    /// Returns the unstarted keys to the front of the queue and reports the finished ones. A worker calls it before it
    /// waits for anything.
    pub fn return_unstarted(&mut self) {
        self.taken.max_size = 0;
        if !self.taken.unstarted.is_empty() || !self.taken.finished.is_empty() {
            self.inner.return_unstarted(&mut self.taken);
        }
    }
}

impl<K: Clone + Eq + Hash, N: Note> Drop for WorkBatch<K, N> {
    fn drop(&mut self) {
        self.return_unstarted();
    }
}

impl<K: Clone + Eq + Hash, N: Note> fmt::Debug for WorkBatch<K, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkBatch").finish_non_exhaustive()
    }
}
