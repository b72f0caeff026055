use std::{
    fmt,
    hash::{BuildHasher, Hash, RandomState},
};

use super::{ExponentialBackoff, Note, RateLimiter, WorkQueue, core::GroupOf};
use crate::metrics::WorkQueueMetrics;

/// What a [`WorkQueue`] is made with.
///
/// By default failures are delayed by [`ExponentialBackoff`], nothing is measured, and all keys
/// are one group.
///
/// ```
/// use pilothouse::queue::WorkQueue;
///
/// let queue: WorkQueue<&str> = WorkQueue::builder()
///     .group_by(|key: &&str| key.split('/').next().unwrap_or_default())
///     .build();
/// queue.add("default/web");
/// ```
pub struct Builder<K> {
    limiter: Box<dyn RateLimiter>,
    metrics: Option<WorkQueueMetrics>,
    group_of: Option<GroupOf<K>>,
}

impl<K: Clone + Eq + Hash + Send + 'static> Builder<K> {
    pub(super) fn new() -> Self {
        Self {
            limiter: Box::new(ExponentialBackoff::default()),
            metrics: None,
            group_of: None,
        }
    }

    /// Delays keys that failed by `limiter`.
    #[must_use]
    pub fn limiter(mut self, limiter: impl RateLimiter) -> Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// Reports to `metrics`.
    #[must_use]
    pub fn metrics(mut self, metrics: WorkQueueMetrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Keys of which `group` says the same are one group, such as a namespace; groups take turns
    /// within a priority. It is asked once while anything is kept of a key, under the queue's
    /// lock: it must be quick, and it must not panic.
    #[must_use]
    pub fn group_by(mut self, group: impl Fn(&K) -> &str + Send + 'static) -> Self {
        let hasher = RandomState::new();
        self.group_of = Some(Box::new(move |key| hasher.hash_one(group(key))));
        self
    }

    /// The queue, empty and open.
    pub fn build<N: Note>(self) -> WorkQueue<K, N> {
        WorkQueue::built(self.limiter, self.metrics, self.group_of)
    }
}

impl<K> fmt::Debug for Builder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}
