use std::{fmt, future::poll_fn, hash::Hash, sync::Arc, time::Duration};

use super::{
    Note, Priority, QueuedKey, RateLimiter, Retry, Work, WorkBatch,
    core::GroupOf,
    inner::{DrainGuard, PerWorkerArc, QueueInner},
    run::{Request, TakenRuns},
};
use crate::metrics::WorkQueueMetrics;

/// A queue of keys to work on: deduplicating, delaying, rate limited, prioritised, and fair. Clones share the queue.
///
/// * A key that is added several times before a worker takes it comes once, with the highest [`Priority`] that it was
///   added with and all its notes merged into one.
/// * Two workers never have the same key. A key that is added while a worker has it comes once more after that.
/// * Among the ready keys, one of the highest priority comes first. Within a priority the [groups](super::Builder::group_by)
///   take turns, and within a group keys come in the order in which they became ready. Lower priorities do not
///   starve: see [`Priority`].
/// * A key has at most one deadline, the earliest that was requested. Whatever makes the key ready earlier replaces
///   the deadline. A key comes at most 1 ms after its deadline; a deadline that has passed makes it ready at once.
/// * A key that is idle, without deadline and without failures takes no memory, and the memory of a burst is freed.
///
/// Adding a key never waits. Each operation takes constant time, with at most one look-up of the key, however many
/// keys there are.
pub struct WorkQueue<K, N = ()> {
    inner: PerWorkerArc<QueueInner<K, N>>,
}

impl<K: Clone + Eq + Hash + Send + 'static, N: Note> WorkQueue<K, N> {
    pub(super) fn from_parts(
        limiter: Box<dyn RateLimiter>,
        metrics: Option<WorkQueueMetrics>,
        group_of: Option<GroupOf<K>>,
    ) -> Self {
        Self {
            inner: Arc::new(QueueInner::new(limiter, metrics, group_of)),
        }
    }

    /// Requests a run of `key` that begins after this call, with [`Priority::Normal`] and an empty note. Does nothing
    /// after a shutdown.
    pub fn add(&self, key: K) {
        self.add_with(key, Priority::default(), N::default());
    }

    /// Like [`add`](Self::add), with a priority and a note. A key that waits already keeps the higher priority; its
    /// notes are merged.
    pub fn add_with(&self, key: K, priority: Priority, note: N) {
        let now = self.inner.now();
        let request = Request { priority, note };
        self.inner.shared.change(|core| core.add(key, request, now));
    }

    /// Requests a run of `key` after `delay`, or earlier if something else makes it ready, with [`Priority::Normal`]
    /// and an empty note.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.add_after_with(key, delay, Priority::default(), N::default());
    }

    /// Like [`add_after`](Self::add_after), with a priority and a note.
    pub fn add_after_with(&self, key: K, delay: Duration, priority: Priority, note: N) {
        let now = self.inner.now();
        let when = self.inner.after(delay, now);
        let request = Request { priority, note };
        self.inner
            .shared
            .change(|core| core.add_at(key, when, request, now));
    }

    /// Counts a failure of `key` and requests a run after the delay that its rate limiter wants, with
    /// [`Priority::Normal`] and an empty note. A worker that has the key calls [`Work::retry`] instead.
    pub fn add_rate_limited(&self, key: K) -> Retry {
        let inner = &self.inner;
        inner.retries();
        let (now, request) = (inner.now(), Request::default());
        let delay = |failures, group| inner.delay(failures, group, Duration::ZERO);
        let (retry, unused) = inner.shared.change(|core| {
            let retry = core.fail(key, request, now, delay);
            (retry, core.take_unused())
        });
        inner.report_unused_delays(unused);
        retry
    }

    /// Forgets the failures of `key`: the next failure counts as the first. The deadline of the key stays.
    /// [`Work::done`] forgets them too.
    pub fn forget(&self, key: &K) {
        self.inner.shared.change(|core| core.forget(key));
    }

    /// How often `key` failed in a row.
    pub fn failures(&self, key: &K) -> u32 {
        self.inner.shared.read(|core| core.failures(key))
    }

    /// Waits for a key to work on. Returns `None` when the queue was shut down and is empty.
    ///
    /// The future may be dropped: each key was either returned or is still in the queue.
    pub async fn get(&self) -> Option<Work<K, N>> {
        let mut taken = TakenRuns::one_at_a_time();
        self.inner.take(&mut taken).await;
        let run = taken.unstarted.pop_front()?;
        Some(Work::new(run, self.inner.clone()))
    }

    /// For a worker that takes several keys at once while its work is quick.
    pub fn batch(&self) -> WorkBatch<K, N> {
        WorkBatch::new(&self.inner)
    }

    /// Ignores all further adds and drops the keys that have only a deadline. Workers still get the ready keys; after
    /// that [`get`](Self::get) returns `None`. Ends a [drain](Self::shut_down_with_drain) that is waiting.
    pub fn shut_down(&self) {
        self.inner.shared.shut_down(true);
    }

    /// Like [`shut_down`](Self::shut_down), and waits until workers have taken all ready keys and have finished all
    /// keys that they took.
    pub async fn shut_down_with_drain(&self) {
        self.inner.shared.shut_down(false);
        let mut drain = DrainGuard::new(&self.inner);
        poll_fn(|cx| drain.inner.shared.poll_drained(&mut drain.waiter, cx)).await;
    }

    /// How many keys are ready and wait for a worker. Delayed keys do not count.
    pub fn len(&self) -> usize {
        self.inner.shared.read(|core| core.len())
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys take memory: those that are ready, running, delayed or failed.
    pub fn remembered(&self) -> usize {
        self.inner.shared.read(|core| core.remembered())
    }

    /// Some of the keys that take memory, at most `limit`, for people to look at. Keys that a worker has and keys
    /// that failed come first. The queue does not change meanwhile.
    pub fn keys(&self, limit: usize) -> Vec<QueuedKey<K>> {
        let now = self.inner.now();
        self.inner.shared.read(|core| {
            let notable = core.keys(now).filter(QueuedKey::is_notable);
            let others = core.keys(now).filter(|key| !key.is_notable());
            notable
                .chain(others)
                .take(limit)
                .map(QueuedKey::cloned)
                .collect()
        })
    }
}

impl<K, N> Clone for WorkQueue<K, N> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }
}

impl<K, N> fmt::Debug for WorkQueue<K, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").finish_non_exhaustive()
    }
}
