use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

pub(super) use crate::health::panic_message as message;

use super::{
    Environment, Failure,
    causes::{Cause, Causes},
    failure_log::FailureLog,
    generations::Generations,
    key_states::KeyStates,
    own_writes::Verdict,
    pace::Pace,
    paused::Paused,
    publish::Publishing,
    read_your_writes::ReadYourWrites,
    readers::Readers,
};
use crate::{
    metrics::ControllerMetrics,
    queue::{ExponentialBackoff, Priority, RateLimiter, WorkQueue},
    resource::ObjectKey,
};

/// Where events become keys: shared by the listeners, the workers and the contexts of a controller.
pub(super) struct Hub {
    pub(super) name: String,
    /// The reconciled kind's.
    pub(super) kind: &'static str,
    pub(super) queue: WorkQueue<ObjectKey, Causes>,
    pub(super) states: KeyStates,
    pub(super) writes: ReadYourWrites,
    pub(super) metrics: ControllerMetrics,
    /// The caches of all wired kinds.
    pub(super) readers: Readers,
    pub(super) paused: Paused,
    /// If a reconcile is dropped when its object has a newer generation.
    pub(super) generations: Option<Generations>,
    /// If objects are reconciled again though nothing happened.
    pub(super) pace: Option<Pace>,
    pub(super) failures: FailureLog,
    pub(super) publishing: Publishing,
    /// How failures are delayed that only a person can end.
    slow: Mutex<ExponentialBackoff>,
    /// A worker has taken a key.
    taken: Notify,
    /// How many wait for that.
    pressed: AtomicUsize,
}

/// So many keys may wait for a worker before sources of the user have to wait.
const ROOM: usize = 1024;
/// The first delay after a failure that only a person can end.
const SLOW: Duration = Duration::from_secs(1);

impl Hub {
    pub(super) fn new(
        name: String,
        kind: &'static str,
        limiter: Box<dyn RateLimiter>,
        environment: &Environment,
    ) -> Self {
        let metrics = environment.metrics.controller(&name);
        let queue = WorkQueue::<ObjectKey>::builder()
            .limiter(limiter)
            .metrics(environment.metrics.workqueue(&name))
            .group_by(|key: &ObjectKey| key.namespace().unwrap_or_default())
            .build();
        let writes = environment.metrics.read_your_writes(&name);
        Self {
            writes: ReadYourWrites::new(queue.clone(), writes),
            queue,
            states: KeyStates::default(),
            readers: Readers::default(),
            paused: Paused::new(&metrics.paused),
            generations: None,
            pace: None,
            failures: FailureLog::default(),
            publishing: Publishing::default(),
            slow: Mutex::new(ExponentialBackoff::new(SLOW, Duration::from_secs(300))),
            taken: Notify::new(),
            pressed: AtomicUsize::new(0),
            metrics,
            name,
            kind,
        }
    }

    /// Asks for a reconcile of `key` that begins after now.
    pub(super) fn ask(&self, key: ObjectKey, priority: Priority, cause: Cause) {
        self.queue.add_with(key, priority, cause.into());
    }

    /// The least delay after the `attempt`-th failure in a row.
    pub(super) fn at_least(&self, failure: &Failure, attempt: u32) -> Duration {
        if !failure.needs_person() {
            return failure.at_least();
        }
        let mut slow = self.slow.lock().unwrap_or_else(PoisonError::into_inner);
        slow.delay(attempt, Duration::ZERO).max(failure.at_least())
    }

    /// Waits until there are not too many keys waiting for a worker.
    pub(super) async fn room(&self) {
        if self.queue.len() < ROOM {
            return;
        }
        let _pressed = Pressed::new(&self.pressed);
        loop {
            // Counts from here on, so that no worker goes by unseen.
            let taken = self.taken.notified();
            if self.queue.len() < ROOM {
                return;
            }
            taken.await;
        }
    }

    /// Tells those who wait for room that a worker has taken a key.
    pub(super) fn tell_room(&self) {
        // Whoever waits counts itself before it looks at the queue, whose lock brings the two in order.
        if self.pressed.load(Ordering::Relaxed) > 0 {
            self.taken.notify_waiters();
        }
    }

    /// Whether a change of the reconciled object from version `old` to `new` is our own status and nothing
    /// else. If that is not known yet, the key is added when it is, should it have to be.
    pub(super) fn is_echo(&self, key: &ObjectKey, old: Option<&str>, new: Option<&str>) -> bool {
        let (Some(old), Some(version)) = (old, new) else {
            return false;
        };
        let verdict = self.states.with(key, |state| {
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

    /// Calls a predicate or a mapping of the user. A panic is counted and logged, and gives `None`.
    pub(super) fn guarded<T>(
        &self,
        what: impl fmt::Display,
        call: impl FnOnce() -> T,
    ) -> Option<T> {
        let called = catch_unwind(AssertUnwindSafe(call));
        called.map_err(|panic| self.panicked(&what, &*panic)).ok()
    }

    fn panicked(&self, what: &dyn fmt::Display, panic: &(dyn Any + Send)) {
        self.metrics.handler_panics.inc();
        tracing::error!(
            controller = self.name,
            "{what} of {} panicked: {}",
            self.kind,
            message(panic)
        );
    }
}

/// Somebody who waits for room, until it is dropped.
struct Pressed<'a>(&'a AtomicUsize);

impl<'a> Pressed<'a> {
    fn new(pressed: &'a AtomicUsize) -> Self {
        pressed.fetch_add(1, Ordering::Relaxed);
        Self(pressed)
    }
}

impl Drop for Pressed<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A status write that is under way: events of the object are parked until it ends, however it ends.
pub(super) struct WriteGuard<'a> {
    hub: &'a Hub,
    key: &'a ObjectKey,
}

impl<'a> WriteGuard<'a> {
    pub(super) fn new(hub: &'a Hub, key: &'a ObjectKey) -> Self {
        hub.states.with(key, |state| {
            state.own_writes.get_or_insert_default().begin();
        });
        Self { hub, key }
    }
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        let ended = self
            .hub
            .states
            .with(self.key, |state| Some(state.own_writes.as_mut()?.end()));
        let (echoes, foreign) = ended.flatten().unwrap_or_default();
        self.hub.metrics.status_echoes.inc_by(echoes as u64);
        if foreign {
            let key = self.key.clone();
            self.hub.ask(key, Priority::Normal, Cause::Updated);
        }
    }
}
