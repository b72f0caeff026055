use std::{
    fmt,
    future::{Future, poll_fn},
    hash::Hash,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use super::{
    Builder, Hand, Note, Priority, QueuedKey, RateLimiter, Retry, Work,
    core::{End, GroupOf, Request, Seat},
    held::Held,
    shared::{Asked, Observe, Shared, Ticket},
};
use crate::metrics::{LiveQueue, LiveState, WorkQueueMetrics};

/// A queue of keys to work on: deduplicating, delaying, rate limited, prioritised, fair. Cloning
/// shares it.
///
/// * A key that is added several times before a worker takes it is handed out once, with the
///   highest [`Priority`] it was added with and all its notes merged into one.
/// * A key is never with two workers: added while it is worked on, it is handed out once more
///   after that.
/// * Of the keys that are ready, one of the highest priority comes first; within a priority the
///   [groups](Builder::group_by) take turns, and within a group keys come in the order in which
///   they became ready. Lower priorities do not starve: see [`Priority`].
/// * A key has one deadline at most, the earliest that was asked for; whatever makes it ready
///   before that replaces it. It comes at most a millisecond late; what is due now comes now.
/// * A key with which nothing is the matter takes no memory, and the memory of a burst is given
///   back.
///
/// Adding never waits. Each operation takes the same short time, with one look-up of the key at
/// most, however many keys there are.
pub struct WorkQueue<K, N = ()> {
    inner: OwnCount<Inner<K, N>>,
}

/// What is shared by a count that is a worker's own: that of the inner one would be changed by all workers all the time.
#[allow(clippy::redundant_allocation)]
pub(super) type OwnCount<T> = Arc<Arc<T>>;

pub(super) struct Inner<K, N> {
    shared: Shared<K, N, Observer>,
    limiter: Mutex<Box<dyn RateLimiter>>,
    metrics: Option<WorkQueueMetrics>,
    epoch: Instant,
}

impl<K: Clone + Eq + Hash + Send + 'static> WorkQueue<K> {
    /// An empty queue of one group with the default [`ExponentialBackoff`](super::ExponentialBackoff),
    /// no notes and no metrics. With notes it is [`WorkQueue::default`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a queue that is not the default one.
    pub fn builder() -> Builder<K> {
        Builder::new()
    }
}

impl<K: Clone + Eq + Hash + Send + 'static, N: Note> WorkQueue<K, N> {
    pub(super) fn built(
        limiter: Box<dyn RateLimiter>,
        metrics: Option<WorkQueueMetrics>,
        group_of: Option<GroupOf<K>>,
    ) -> Self {
        let inner = Arc::new(Inner {
            shared: Shared::new(group_of, Observer(metrics.clone())),
            limiter: Mutex::new(limiter),
            metrics: metrics.clone(),
            epoch: Instant::now(),
        });
        if let Some(metrics) = metrics {
            let weak = Arc::downgrade(&inner);
            metrics.watch(weak);
        }
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Asks for a run of `key` that begins after now, with [`Priority::Normal`] and nothing noted.
    /// Ignored after a shut-down.
    pub fn add(&self, key: K) {
        self.add_with(key, Priority::default(), N::default());
    }

    /// As [`add`](Self::add), with a priority and a note. A key that waits already keeps the higher
    /// priority; notes are merged.
    pub fn add_with(&self, key: K, priority: Priority, note: N) {
        let now = self.inner.now();
        let request = Request { priority, note };
        self.inner.shared.change(|core| core.add(key, request, now));
    }

    /// Asks for a run of `key` after `delay`, or earlier if something else makes it ready, with
    /// [`Priority::Normal`] and nothing noted.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.add_after_with(key, delay, Priority::default(), N::default());
    }

    /// As [`add_after`](Self::add_after), with a priority and a note.
    pub fn add_after_with(&self, key: K, delay: Duration, priority: Priority, note: N) {
        let now = self.inner.now();
        let when = self.inner.after(delay, now);
        let request = Request { priority, note };
        self.inner
            .shared
            .change(|core| core.add_at(key, when, request, now));
    }

    /// Counts a failure of `key` and asks for a run after the delay its limiter wants, with
    /// [`Priority::Normal`] and nothing noted. Whoever works on the key says
    /// [`Work::retry`] instead.
    pub fn add_rate_limited(&self, key: K) -> Retry {
        let inner = &self.inner;
        inner.retries();
        let (now, request) = (inner.now(), Request::default());
        let delay = |failures| inner.delay(failures, Duration::ZERO);
        let (retry, unused) = inner.shared.change(|core| {
            let retry = core.fail(key, request, now, delay);
            (retry, core.take_unused())
        });
        inner.give_back(unused);
        retry
    }

    /// Ends the failures of `key`: the next one counts as the first. Its deadline is kept.
    /// [`Work::done`] does so by itself.
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
    pub async fn get(&self) -> Option<Work<K, N>> {
        let mut held = Held::one();
        self.inner.take(&mut held).await;
        let run = held.runs.pop_front()?;
        Some(Work::new(run, self.inner.clone()))
    }

    /// The hand of a worker that takes several keys at once while its work is quick.
    pub fn hand(&self) -> Hand<K, N> {
        Hand::new(&self.inner)
    }

    /// Takes no more keys and drops those with a deadline. What is ready is still handed out; then
    /// [`get`](Self::get) answers `None`. Ends a [drain](Self::shut_down_with_drain) that waits.
    pub fn shut_down(&self) {
        self.inner.shared.shut_down(true);
    }

    /// As [`shut_down`](Self::shut_down), and waits until everything ready has been handed out and
    /// the work on everything handed out has ended.
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

    /// Some of the keys for which the queue keeps anything, `limit` at most, for people to look at:
    /// those with a worker and those that failed first. Nothing moves meanwhile.
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

impl<K: Clone + Eq + Hash, N: Note> Inner<K, N> {
    /// Ends what is held as done, and waits until there is more to hold; when that was.
    pub(super) async fn take(&self, held: &mut Held<K, N>) -> Duration {
        let mut place = Place {
            inner: self,
            ticket: Ticket::default(),
        };
        loop {
            let mut now = Duration::ZERO;
            let asked = poll_fn(|cx| {
                now = self.now();
                Poll::Ready(self.shared.ask(&mut place.ticket, held, now, cx))
            })
            .await;
            match asked {
                Asked::Now => return now,
                // Both branches only wait; whichever ends first, the state is asked again.
                Asked::Sleep(deadline) => called(self.epoch, deadline).await,
            }
        }
    }

    pub(super) fn lay_down(&self, held: &mut Held<K, N>) {
        self.shared.lay_down(held, self.now());
    }

    pub(super) fn finished(&self, worked: Duration) {
        if let Some(metrics) = &self.metrics {
            metrics.work_seconds.observe(worked.as_secs_f64());
        }
    }

    pub(super) fn end(&self, seat: Seat, end: End) {
        self.shared.end(seat, end, self.now(), |_, _| ());
    }

    pub(super) fn requeue(&self, seat: Seat, delay: Duration, request: Request<N>) {
        let now = self.now();
        let when = self.after(delay, now);
        self.shared.end(seat, End::Success, now, |core, seat| {
            core.add_again(seat, when, request, now);
        });
    }

    pub(super) fn retry_work(&self, seat: Seat, delay: Duration, request: Request<N>) -> Retry {
        self.retries();
        let now = self.now();
        let (retry, unused) = self.shared.end(seat, End::Open, now, |core, seat| {
            let retry = core.fail_again(seat, request, now, delay);
            (retry, core.take_unused())
        });
        self.give_back(unused);
        retry
    }

    /// Tells the limiter of delays that were not waited for.
    fn give_back(&self, delays: u32) {
        if delays > 0 {
            self.limiter().unused(delays);
        }
    }

    fn limiter(&self) -> MutexGuard<'_, Box<dyn RateLimiter>> {
        self.limiter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The delay after so many failures, as the limiter and whoever failed want it.
    pub(super) fn delay(&self, failures: u32, at_least: Duration) -> Duration {
        let delay = self.limiter().delay(failures, self.now());
        delay.max(at_least).min(FAR)
    }

    /// The time after `delay`, of a key that is added with one.
    fn after(&self, delay: Duration, now: Duration) -> Duration {
        if !delay.is_zero() {
            self.retries();
        }
        now.saturating_add(delay.min(FAR))
    }
}

/// Thirty years, which is never: `Instant` cannot be moved by `Duration::MAX`.
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
struct Place<'a, K: Clone + Eq + Hash, N: Note> {
    inner: &'a Inner<K, N>,
    ticket: Ticket,
}

impl<K: Clone + Eq + Hash, N: Note> Drop for Place<'_, K, N> {
    fn drop(&mut self) {
        self.inner.shared.give_up(&mut self.ticket);
    }
}

struct Drain<'a, K: Clone + Eq + Hash, N: Note> {
    inner: &'a Inner<K, N>,
    ticket: Ticket,
}

impl<K: Clone + Eq + Hash, N: Note> Drop for Drain<'_, K, N> {
    fn drop(&mut self) {
        self.inner.shared.leave_drained(&mut self.ticket);
    }
}

impl<K, N> Inner<K, N> {
    pub(super) fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    fn retries(&self) {
        if let Some(metrics) = &self.metrics {
            metrics.retries.inc();
        }
    }
}

impl<K: Clone + Eq + Hash + Send, N: Note> LiveQueue for Inner<K, N> {
    fn live(&self) -> LiveState {
        let now = self.now();
        self.shared.read(|core| {
            let ages = core.running_since().map(|since| now.saturating_sub(since));
            ages.fold(LiveState::of_depth(core.depth()), LiveState::and_running)
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

impl<K: Clone + Eq + Hash + Send + 'static, N: Note> Default for WorkQueue<K, N> {
    fn default() -> Self {
        Builder::new().build()
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
