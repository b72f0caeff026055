use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{
    blocking_work::BlockingWork,
    copied_marks::CopiedMarks,
    failure_log::{FailureLog, Rounded},
    generations::Generations,
    key_states::KeyStates,
    own_writes::Verdict,
    paused::PausedObjects,
    resync_period::ResyncPeriod,
    run_writes::{EventVerdict, ObjectId, RunWrites, Shown},
    write_limit::WriteLimit,
};
use crate::{
    controller::{
        caches::WiredCaches,
        cause::{Cause, Causes},
        environment::Environment,
        error::Failure,
        history::History,
        read_your_writes::ReadYourWrites,
    },
    health::{CaughtPanic, catch_panic},
    metrics::ControllerMetrics,
    queue::{ExponentialBackoff, FailedKey, Priority, RateLimiter, Work, WorkQueue},
    resource::{ApiResource, ObjectKey, ObjectMeta},
};

type OwnMetadata = Box<dyn Fn(&ObjectKey) -> Option<ObjectMeta> + Send + Sync>;

/// What the listeners, the workers and the contexts of one controller share. Events become keys here.
pub(crate) struct ControllerState {
    pub(crate) name: String,
    /// The reconciled kind.
    pub(crate) resource: ApiResource,
    pub(crate) queue: WorkQueue<ObjectKey, Causes>,
    pub(crate) key_states: KeyStates,
    pub(crate) writes: ReadYourWrites,
    pub(crate) metrics: ControllerMetrics,
    /// The caches of all wired kinds.
    pub(crate) caches: WiredCaches,
    pub(crate) paused: PausedObjects,
    /// Set if a call is dropped when its object has a newer generation.
    pub(crate) generations: Option<Generations>,
    /// Set if unchanged objects are reconciled again.
    pub(crate) resync: Option<ResyncPeriod>,
    pub(crate) failures: FailureLog,
    pub(crate) write_limit: WriteLimit,
    pub(crate) copied_marks: Mutex<CopiedMarks>,
    pub(crate) blocking: BlockingWork,
    /// What happened to each object. Set if the debug page is served.
    pub(crate) history: Option<Arc<History>>,
    /// Reads the metadata of a reconciled object from the cache. Set with `history`.
    pub(crate) own_metadata: OnceLock<OwnMetadata>,
    /// The delays of failures that only a person can end.
    slow_backoff: Mutex<ExponentialBackoff>,
    /// Notified when a worker has taken a key.
    key_taken: Notify,
    /// The number of sources that wait for `key_taken`.
    waiting_sources: AtomicUsize,
}

/// The user's sources wait while this many keys wait for a worker.
const CAPACITY: usize = 1024;
/// By default a key writes in 30 calls at once, and in one more per second.
pub(crate) const WRITE_LIMIT: (u32, Duration) = (30, Duration::from_secs(1));
/// The first delay after a failure that only a person can end.
const SLOW_BACKOFF: Duration = Duration::from_secs(1);

impl ControllerState {
    pub(crate) fn new(
        name: String,
        resource: ApiResource,
        limiter: Box<dyn RateLimiter>,
        environment: &Environment,
    ) -> Self {
        let metrics = environment.metrics.controller(&name);
        let queue = WorkQueue::<ObjectKey>::builder()
            .limiter(limiter)
            .metrics(&environment.metrics, &name)
            .group_by(|key: &ObjectKey| key.namespace().unwrap_or_default())
            .build();
        let writes = environment.metrics.read_your_writes(&name);
        Self {
            writes: ReadYourWrites::new(queue.clone(), writes),
            queue,
            key_states: KeyStates::default(),
            caches: WiredCaches::default(),
            paused: PausedObjects::new(&metrics.paused),
            generations: None,
            resync: None,
            failures: FailureLog::default(),
            write_limit: WriteLimit::new(WRITE_LIMIT),
            copied_marks: Mutex::new(CopiedMarks::new()),
            blocking: BlockingWork::new(1),
            history: None,
            own_metadata: OnceLock::new(),
            slow_backoff: Mutex::new(ExponentialBackoff::new(
                SLOW_BACKOFF,
                Duration::from_secs(300),
            )),
            key_taken: Notify::new(),
            waiting_sources: AtomicUsize::new(0),
            metrics,
            name,
            resource,
        }
    }

    /// Adds `key` to the queue. The reconcile that follows begins after this call.
    pub(crate) fn enqueue(&self, key: ObjectKey, priority: Priority, cause: Cause) {
        self.queue.add_with(key, priority, cause.into());
    }

    /// The lower bound of the delay after the `attempt`-th failure in a row.
    pub(crate) fn minimum_delay(&self, failure: &Failure, attempt: u32) -> Duration {
        if !failure.needs_person() {
            return failure.minimum_delay();
        }
        self.slow_backoff
            .lock()
            .delay(FailedKey::after(attempt, Duration::ZERO))
            .max(failure.minimum_delay())
    }

    /// A call for `key` writes something. Returns whether a [report](Self::write_loop_text) has to be made.
    pub(crate) fn note_write(&self, key: &ObjectKey) -> bool {
        let limit = &self.write_limit;
        self.key_states
            .with(key, |state| limit.note(&mut state.pace))
            .unwrap_or(false)
    }

    /// Puts the key of `work` back into the queue, for later, if its calls wrote too often. The key takes no worker and
    /// delays no other key meanwhile, and a change during the pause is covered by the call after it. Returns whether it did.
    pub(crate) fn hold_back(&self, work: &mut Work<ObjectKey, Causes>) -> bool {
        let limit = &self.write_limit;
        if !limit.is_active() {
            return false;
        }
        let pause = self
            .key_states
            .with(&work.key, |state| limit.pause(&mut state.pace));
        let Some(pause) = pause.flatten() else {
            return false;
        };
        if pause.is_new {
            self.metrics.write_pauses.inc();
        }
        let (key, note) = (work.key.clone(), std::mem::take(&mut work.note));
        self.queue
            .add_after_with(key, pause.remaining, work.priority, note);
        true
    }

    /// What people are told about an object whose calls write too often. `write` is the last write.
    pub(crate) fn write_loop_text(&self, write: &str) -> String {
        let (burst, period) = (self.write_limit.burst(), Rounded(self.write_limit.period()));
        format!(
            "its reconciles write again and again, more than {burst} times within a short time: until that ends, there is one \
             reconcile per {period}. The last write: {write}. Usually something else reverts what reconcile writes, such as another \
             controller or a webhook"
        )
    }

    /// Waits until fewer than 1024 keys wait for a worker.
    pub(crate) async fn wait_for_capacity(&self) {
        if self.queue.len() < CAPACITY {
            return;
        }
        let _waiting = WaitingSource::new(&self.waiting_sources);
        loop {
            // Created before the length is read, so that no notification is missed.
            let taken = self.key_taken.notified();
            if self.queue.len() < CAPACITY {
                return;
            }
            taken.await;
        }
    }

    /// Wakes the sources that wait for capacity: a worker has taken a key.
    pub(crate) fn notify_capacity(&self) {
        // A source counts itself before it reads the queue's length. The queue's lock orders the two.
        if self.waiting_sources.load(Ordering::Relaxed) > 0 {
            self.key_taken.notify_waiters();
        }
    }

    /// Whether a change of the reconciled object from version `old` to `new` is only a status that this controller wrote.
    ///
    /// While a write is under way this is not known yet. The change then counts as an echo, and the key is added
    /// when the write ends, if somebody else changed the object too.
    pub(crate) fn is_echo(&self, key: &ObjectKey, old: Option<&str>, new: Option<&str>) -> bool {
        let (Some(old), Some(version)) = (old, new) else {
            return false;
        };
        let verdict = self.key_states.with(key, |state| {
            Some(state.own_writes.as_mut()?.judge(old, version))
        });
        match verdict.flatten().unwrap_or(Verdict::Foreign) {
            Verdict::Foreign => false,
            Verdict::Parked => true,
            Verdict::Echo => {
                self.metrics.status_echoes.inc();
                true
            }
        }
    }

    /// A run for `key` sends a write of another object, whose events lead to `key`.
    pub(crate) fn begin_run_write(&self, key: &ObjectKey, run: u64, object: ObjectId) {
        self.key_states.with(key, |state| {
            let writes = state.run_writes.take().filter(|writes| writes.is_of(run));
            let mut writes = writes.unwrap_or_else(|| Box::new(RunWrites::new(run)));
            writes.begin(object);
            state.run_writes = Some(writes);
        });
    }

    /// The server answered a write of [`begin_run_write`](Self::begin_run_write).
    pub(crate) fn run_write_answered(
        &self,
        key: &ObjectKey,
        run: u64,
        object: &ObjectId,
        answer: &ObjectMeta,
    ) {
        let (Some(uid), Some(version)) = (&answer.uid, &answer.resource_version) else {
            return;
        };
        self.key_states.with(key, |state| {
            let writes = state.run_writes.as_mut();
            if let Some(writes) = writes.filter(|writes| writes.is_of(run)) {
                writes.answered(object, uid, version);
            }
        });
    }

    /// Whether an event that leads to `key` is only the echo of a write of the last run for it, or may be one: then `key` is
    /// added when the run ends, unless it was one.
    pub(crate) fn is_echo_of_run(
        &self,
        key: &ObjectKey,
        priority: Priority,
        cause: Cause,
        shown: Shown<'_>,
        what: impl Fn() -> String,
    ) -> bool {
        let what = || self.history.as_ref().map(|_| what());
        let verdict = self.key_states.with(key, |state| {
            let writes = state.run_writes.as_mut()?;
            let verdict = writes.judge(shown, priority, cause, what);
            if writes.is_over() {
                state.run_writes = None;
            }
            Some(verdict)
        });
        match verdict.flatten().unwrap_or(EventVerdict::Change) {
            EventVerdict::Change => false,
            EventVerdict::Parked => true,
            EventVerdict::Echo => {
                self.metrics.child_echoes.inc();
                true
            }
        }
    }

    /// A run for `key` has ended. Adds `key` again for each change that was seen during the run and was not its own write.
    /// `is_spared` says of which objects the run's own writes are no changes for `key`.
    pub(crate) fn end_run(&self, key: &ObjectKey, is_spared: impl Fn(&ObjectId) -> bool) {
        let ended = self.key_states.with(key, |state| {
            let writes = state.run_writes.as_mut()?;
            let ended = writes.end(is_spared);
            if writes.is_over() {
                state.run_writes = None;
            }
            Some(ended)
        });
        let Some((echoes, changes)) = ended.flatten() else {
            return;
        };
        self.metrics.child_echoes.inc_by(echoes as u64);
        for change in changes {
            if let (Some(history), Some(what)) = (&self.history, change.what) {
                history.caused(key, change.cause, what);
            }
            self.queue
                .add_with(key.clone(), change.priority, change.causes);
        }
    }

    /// Calls a predicate or a mapping of the user. A panic is counted and logged; then this returns `None`.
    pub(crate) fn catch_panic<T>(
        &self,
        what: impl fmt::Display,
        call: impl FnOnce() -> T,
    ) -> Option<T> {
        let called = catch_panic(call);
        called.map_err(|panic| self.panicked(&what, &panic)).ok()
    }

    fn panicked(&self, what: &dyn fmt::Display, panic: &CaughtPanic) {
        self.metrics.handler_panics.inc();
        tracing::error!(
            controller = self.name,
            "{what} of {} panicked: {panic}",
            self.resource.kind
        );
    }
}

/// Counts a source that waits for capacity, until it is dropped.
struct WaitingSource<'a>(&'a AtomicUsize);

impl<'a> WaitingSource<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for WaitingSource<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A status write that is under way. Events of the object are parked until this is dropped, whether or not the write
/// succeeded.
pub(crate) struct WriteGuard<'a> {
    controller: &'a ControllerState,
    key: &'a ObjectKey,
}

impl<'a> WriteGuard<'a> {
    pub(crate) fn new(controller: &'a ControllerState, key: &'a ObjectKey) -> Self {
        controller.key_states.with(key, |state| {
            state.own_writes.get_or_insert_default().begin();
        });
        Self { controller, key }
    }
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        let ended = self
            .controller
            .key_states
            .with(self.key, |state| Some(state.own_writes.as_mut()?.end()));
        let (echoes, foreign) = ended.flatten().unwrap_or_default();
        self.controller.metrics.status_echoes.inc_by(echoes as u64);
        if foreign {
            let key = self.key.clone();
            self.controller
                .enqueue(key, Priority::Normal, Cause::Updated);
        }
    }
}
