use std::{
    fmt,
    hash::{BuildHasher, Hash, RandomState},
};

use super::{ExponentialBackoff, Note, RateLimiter, WorkQueue, core::GroupOf};
use crate::metrics::{Metrics, WorkQueueMetrics};

/// The options of a [`WorkQueue`].
///
/// By default [`ExponentialBackoff`] delays keys that failed, there are no metrics, and all keys are one group.
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

    /// Uses `limiter` for the delays of keys that failed.
    #[must_use]
    pub fn limiter(mut self, limiter: impl RateLimiter) -> Self {
        self.limiter = Box::new(limiter);
        self
    }

    /// Reports to the series `workqueue_…` of `metrics` with the label `name`.
    #[must_use]
    pub fn metrics(mut self, metrics: &Metrics, name: &str) -> Self {
        self.metrics = Some(metrics.workqueue(name));
        self
    }

    /// Keys for which `group` returns the same name are one group, such as a namespace. Groups take turns within a
    /// priority. The queue calls `group` once while it remembers a key, under its lock: the function must be quick
    /// and must not panic.
    #[must_use]
    pub fn group_by(mut self, group: impl Fn(&K) -> &str + Send + 'static) -> Self {
        let hasher = RandomState::new();
        self.group_of = Some(Box::new(move |key| hasher.hash_one(group(key))));
        self
    }

    /// Builds an empty, open queue.
    pub fn build<N: Note>(self) -> WorkQueue<K, N> {
        WorkQueue::from_parts(self.limiter, self.metrics, self.group_of)
    }
}

impl<K: Clone + Eq + Hash + Send + 'static> WorkQueue<K> {
    /// An empty queue with the default options: one group, [`ExponentialBackoff`](super::ExponentialBackoff), no
    /// notes and no metrics. For a queue with notes use [`WorkQueue::default`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a queue with other options than the defaults.
    pub fn builder() -> Builder<K> {
        Builder::new()
    }
}

impl<K: Clone + Eq + Hash + Send + 'static, N: Note> Default for WorkQueue<K, N> {
    fn default() -> Self {
        Builder::new().build()
    }
}

impl<K> fmt::Debug for Builder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").finish_non_exhaustive()
    }
}
