use std::{
    future::{Future, poll_fn},
    hash::Hash,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use super::{
    FailedKey, Note, RateLimiter, Retry,
    core::GroupOf,
    run::{End, Request, RunToken, TakenRuns},
    shared_core::{QueueObserver, SharedCore, TakeOutcome, Waiter},
};
use crate::metrics::{QueueSample, SampledQueue, WorkQueueMetrics};

/// An `Arc` whose reference count belongs to one worker. If all workers shared one count, they would contend for its
/// cache line.
#[allow(clippy::redundant_allocation)]
pub(crate) type PerWorkerArc<T> = Arc<Arc<T>>;

/// What all clones of a queue share.
pub(super) struct QueueInner<K, N> {
    pub(super) shared: SharedCore<K, N, MetricsObserver>,
    limiter: Mutex<Box<dyn RateLimiter>>,
    metrics: Option<WorkQueueMetrics>,
    epoch: Instant,
}

impl<K: Clone + Eq + Hash + Send + 'static, N: Note> QueueInner<K, N> {
    pub(super) fn new(
        limiter: Box<dyn RateLimiter>,
        metrics: Option<WorkQueueMetrics>,
        group_of: Option<GroupOf<K>>,
    ) -> Arc<Self> {
        let inner = Arc::new(Self {
            shared: SharedCore::new(group_of, MetricsObserver(metrics.clone())),
            limiter: Mutex::new(limiter),
            metrics: metrics.clone(),
            epoch: Instant::now(),
        });
        if let Some(metrics) = metrics {
            let weak = Arc::downgrade(&inner);
            metrics.watch(weak);
        }
        inner
    }
}

impl<K: Clone + Eq + Hash, N: Note> QueueInner<K, N> {
    /// Reports the finished runs of `taken`, and waits until there are runs to take. Returns when that was.
    pub(super) async fn take(&self, taken: &mut TakenRuns<K, N>) -> Duration {
        let mut guard = WaitGuard {
            inner: self,
            waiter: Waiter::default(),
        };
        loop {
            let mut now = Duration::ZERO;
            let asked = poll_fn(|cx| {
                now = self.now();
                Poll::Ready(self.shared.take(&mut guard.waiter, taken, now, cx))
            })
            .await;
            match asked {
                TakeOutcome::Proceed => return now,
                // Both branches only wait. Whichever ends first, the state is read again.
                TakeOutcome::Sleep(deadline) => wait_for_wake(self.epoch, deadline).await,
            }
        }
    }

    pub(super) fn return_unstarted(&self, taken: &mut TakenRuns<K, N>) {
        self.shared.return_unstarted(taken, self.now());
    }

    pub(super) fn finished(&self, worked: Duration) {
        if let Some(metrics) = &self.metrics {
            metrics.work_seconds.observe(worked.as_secs_f64());
        }
    }

    pub(super) fn end(&self, token: RunToken, end: End) {
        self.shared.end(token, end, self.now(), |_, _| ());
    }

    pub(super) fn requeue(&self, token: RunToken, delay: Duration, request: Request<N>) {
        let now = self.now();
        let when = self.after(delay, now);
        self.shared.end(token, End::Success, now, |core, token| {
            core.add_running(token, when, request, now);
        });
    }

    pub(super) fn retry(&self, token: RunToken, delay: Duration, request: Request<N>) -> Retry {
        self.retries();
        let now = self.now();
        let (retry, unused) = self
            .shared
            .end(token, End::KeepFailures, now, |core, token| {
                let retry = core.fail_running(token, request, now, delay);
                (retry, core.take_unused())
            });
        self.report_unused_delays(unused);
        retry
    }

    /// Tells the rate limiter about the groups of delays that were not used.
    pub(super) fn report_unused_delays(&self, groups: Vec<u64>) {
        if !groups.is_empty() {
            let mut limiter = self.limiter.lock();
            groups.into_iter().for_each(|group| limiter.unused(group));
        }
    }

    /// The delay of a key of `group` after so many failures: what the rate limiter wants, but at least `at_least`.
    pub(super) fn delay(&self, failures: u32, group: u64, at_least: Duration) -> Duration {
        let mut limiter = self.limiter.lock();
        let delay = limiter.delay(FailedKey {
            failures,
            group,
            now: self.now(),
        });
        delay.max(at_least).min(FAR)
    }

    /// The time after `delay`, for a key that is added with a delay.
    pub(super) fn after(&self, delay: Duration, now: Duration) -> Duration {
        if !delay.is_zero() {
            self.retries();
        }
        now.saturating_add(delay.min(FAR))
    }
}

/// Thirty years, which means never: an `Instant` plus `Duration::MAX` would overflow.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Waits until the queue wakes this task, or until the deadline.
async fn wait_for_wake(epoch: Instant, deadline: Option<Duration>) {
    let mut sleep = pin!(deadline.map(|deadline| sleep_until(epoch + deadline)));
    let mut first = true;
    poll_fn(|cx| {
        // The queue has the waker of this task: the second poll means that the queue woke it.
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

/// Removes a worker from the wait list when the future is dropped.
struct WaitGuard<'a, K: Clone + Eq + Hash, N: Note> {
    inner: &'a QueueInner<K, N>,
    waiter: Waiter,
}

impl<K: Clone + Eq + Hash, N: Note> Drop for WaitGuard<'_, K, N> {
    fn drop(&mut self) {
        self.inner.shared.give_up(&mut self.waiter);
    }
}

/// Removes a drain from the wait list when the future is dropped.
pub(super) struct DrainGuard<'a, K: Clone + Eq + Hash, N: Note> {
    pub(super) inner: &'a QueueInner<K, N>,
    pub(super) waiter: Waiter,
}

impl<'a, K: Clone + Eq + Hash, N: Note> DrainGuard<'a, K, N> {
    pub(super) fn new(inner: &'a QueueInner<K, N>) -> Self {
        Self {
            inner,
            waiter: Waiter::default(),
        }
    }
}

impl<K: Clone + Eq + Hash, N: Note> Drop for DrainGuard<'_, K, N> {
    fn drop(&mut self) {
        self.inner.shared.leave_drained(&mut self.waiter);
    }
}

impl<K, N> QueueInner<K, N> {
    pub(super) fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    pub(super) fn retries(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.retries.inc();
        }
    }
}

impl<K: Clone + Eq + Hash + Send, N: Note> SampledQueue for QueueInner<K, N> {
    fn sample(&self) -> QueueSample {
        let now = self.now();
        self.shared.read(|core| {
            let ages = core.running_since().map(|since| now.saturating_sub(since));
            ages.fold(
                QueueSample::of_depth(core.depth()),
                QueueSample::and_running,
            )
        })
    }
}

pub(super) struct MetricsObserver(Option<WorkQueueMetrics>);

impl QueueObserver for MetricsObserver {
    fn added(&self, count: u64) {
        if let Some(metrics) = &self.0 {
            metrics.adds.inc_by(count);
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
