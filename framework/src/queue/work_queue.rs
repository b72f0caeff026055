use std::{
    fmt,
    future::{Future, poll_fn},
    hash::Hash,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use super::{
    ExponentialBackoff, RateLimiter, Retry,
    shared::{Asked, Observe, Shared, Ticket},
};
use crate::metrics::{Running, RunningWork, WorkQueueMetrics};

/// A queue of keys to work on: deduplicating, delaying, rate limited. Cloning shares it.
///
/// * A key that is added several times before a worker takes it is handed out once.
/// * A key is never with two workers: added while it is worked on, it is handed out once more
///   after [`done`](Self::done).
/// * Keys that are ready come out in the order in which they became ready.
/// * A key has one deadline at most, the earliest that was asked for; whatever makes it ready
///   before that replaces it.
/// * A key with which nothing is the matter takes no memory.
///
/// Whoever gets a key has to say [`done`](Self::done), or it is never handed out again.
pub struct WorkQueue<K> {
    inner: Arc<Inner<K>>,
}

struct Inner<K> {
    shared: Shared<K, Observer>,
    limiter: Mutex<Box<dyn RateLimiter>>,
    metrics: Option<WorkQueueMetrics>,
    epoch: Instant,
}

impl<K: Clone + Eq + Hash + Send + 'static> WorkQueue<K> {
    /// An empty queue with the default [`ExponentialBackoff`] and no metrics.
    pub fn new() -> Self {
        Self::with(ExponentialBackoff::default(), None)
    }

    /// An empty queue that delays failures by `limiter` and reports to `metrics`.
    pub fn with(limiter: impl RateLimiter, metrics: Option<WorkQueueMetrics>) -> Self {
        let inner = Arc::new(Inner {
            shared: Shared::new(Observer(metrics.clone())),
            limiter: Mutex::new(Box::new(limiter)),
            metrics: metrics.clone(),
            epoch: Instant::now(),
        });
        if let Some(metrics) = metrics {
            let weak = Arc::downgrade(&inner);
            metrics.watch(weak);
        }
        Self { inner }
    }

    /// Asks for a run of `key` that begins after now. Ignored after a shut-down.
    pub fn add(&self, key: K) {
        let now = self.inner.now();
        self.inner.shared.change(|core| core.add(key, now));
    }

    /// Asks for a run of `key` after `delay`, or earlier if something else makes it ready.
    pub fn add_after(&self, key: K, delay: Duration) {
        let now = self.inner.now();
        if !delay.is_zero() {
            self.inner.retries();
        }
        // So far away that the clock would overflow is never.
        let when = now.saturating_add(delay.min(FAR));
        self.inner.shared.change(|core| core.add_at(key, when, now));
    }

    /// Counts a failure of `key` and asks for a run after the delay its limiter wants.
    pub fn add_rate_limited(&self, key: K) -> Retry {
        self.retry(key, Duration::ZERO)
    }

    /// As [`add_rate_limited`](Self::add_rate_limited), but not before `at_least` has passed.
    pub fn retry(&self, key: K, at_least: Duration) -> Retry {
        let now = self.inner.now();
        self.inner.retries();
        self.inner.shared.change(|core| {
            let attempt = core.fail(&key);
            let mut limiter = self
                .inner
                .limiter
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let delay = limiter.delay(attempt, now).max(at_least).min(FAR);
            core.add_at(key, now.saturating_add(delay), now);
            Retry { attempt, delay }
        })
    }

    /// Ends the failures of `key`: the next one counts as the first. Its deadline is kept.
    pub fn forget(&self, key: &K) {
        self.inner.shared.change(|core| core.forget(key));
    }

    /// How often `key` failed in a row.
    pub fn failures(&self, key: &K) -> u32 {
        self.inner.shared.read(|core| core.failures(key))
    }

    /// Waits for a key to work on; `None` when the queue was shut down and is empty.
    ///
    /// May be cancelled: a key is either returned or still in the queue.
    pub async fn get(&self) -> Option<K> {
        let mut place = Place {
            inner: &self.inner,
            ticket: Ticket::default(),
        };
        loop {
            let asked = poll_fn(|cx| {
                let now = place.inner.now();
                Poll::Ready(place.inner.shared.ask(&mut place.ticket, now, cx))
            })
            .await;
            match asked {
                Asked::Now(key) => return key,
                // Both branches only wait; whichever ends first, the state is asked again.
                Asked::Sleep(deadline) => called(self.inner.epoch, deadline).await,
            }
        }
    }

    /// Ends the work on `key`. If it was added meanwhile it is ready now.
    pub fn done(&self, key: &K) {
        self.inner.shared.done(key, self.inner.now());
    }

    /// Takes no more keys and drops those with a deadline. What is ready is still handed out; then
    /// [`get`](Self::get) answers `None`. Ends a [drain](Self::shut_down_with_drain) that waits.
    pub fn shut_down(&self) {
        self.inner.shared.shut_down(true);
    }

    /// As [`shut_down`](Self::shut_down), and waits until everything ready has been handed out and
    /// everything handed out is [`done`](Self::done).
    pub async fn shut_down_with_drain(&self) {
        self.inner.shared.shut_down(false);
        let mut drain = Drain {
            inner: &self.inner,
            ticket: Ticket::default(),
        };
        poll_fn(|cx| drain.inner.shared.poll_drained(&mut drain.ticket, cx)).await;
    }

    /// How many keys wait for a worker now; delayed ones do not count.
    pub fn len(&self) -> usize {
        self.inner.shared.read(|core| core.len())
    }

    /// Whether no key waits for a worker.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For how many keys the queue keeps anything: waiting, running, delayed or failed.
    pub fn remembered(&self) -> usize {
        self.inner.shared.read(|core| core.remembered())
    }
}

/// Thirty years: `Instant` cannot be moved by `Duration::MAX`.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Waits until the waker that the queue was given is called, or for the deadline.
async fn called(epoch: Instant, deadline: Option<Duration>) {
    let mut sleep = pin!(deadline.map(|deadline| sleep_until(epoch + deadline)));
    let mut first = true;
    poll_fn(|cx| {
        // The queue holds this task's waker: being polled again is the call.
        if !std::mem::take(&mut first) {
            return Poll::Ready(());
        }
        match sleep.as_mut().as_pin_mut() {
            Some(sleep) => sleep.poll(cx),
            None => Poll::Pending,
        }
    })
    .await;
}

/// A worker's place in the line, given up when the future is dropped.
struct Place<'a, K: Clone + Eq + Hash> {
    inner: &'a Inner<K>,
    ticket: Ticket,
}

impl<K: Clone + Eq + Hash> Drop for Place<'_, K> {
    fn drop(&mut self) {
        self.inner.shared.give_up(&mut self.ticket);
    }
}

struct Drain<'a, K: Clone + Eq + Hash> {
    inner: &'a Inner<K>,
    ticket: Ticket,
}

impl<K: Clone + Eq + Hash> Drop for Drain<'_, K> {
    fn drop(&mut self) {
        self.inner.shared.leave_drained(&mut self.ticket);
    }
}

impl<K> Inner<K> {
    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    fn retries(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.retries.inc();
        }
    }
}

impl<K: Clone + Eq + Hash + Send> RunningWork for Inner<K> {
    fn running(&self) -> Running {
        let now = self.now();
        self.shared.read(|core| {
            core.running_since()
                .fold(Running::default(), |running, since| {
                    let age = now.saturating_sub(since);
                    Running {
                        unfinished: running.unfinished + age,
                        longest: running.longest.max(age),
                    }
                })
        })
    }
}

struct Observer(Option<WorkQueueMetrics>);

impl Observe for Observer {
    fn added(&self, count: u64) {
        if let Some(metrics) = &self.0 {
            metrics.adds.inc_by(count);
        }
    }

    fn depth(&self, depth: usize) {
        if let Some(metrics) = &self.0 {
            metrics.depth.set(depth as f64);
        }
    }

    fn started(&self, waited: Duration) {
        if let Some(metrics) = &self.0 {
            metrics.queue_seconds.observe(waited.as_secs_f64());
        }
    }

    fn finished(&self, worked: Duration) {
        if let Some(metrics) = &self.0 {
            metrics.work_seconds.observe(worked.as_secs_f64());
        }
    }
}

impl<K: Clone + Eq + Hash + Send + 'static> Default for WorkQueue<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }
}

impl<K> fmt::Debug for WorkQueue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkQueue").finish_non_exhaustive()
    }
}
