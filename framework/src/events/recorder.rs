use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use jiff::Timestamp;
use k8s_openapi::api::{core::v1 as core, events::v1 as api};
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Event, EventType,
    correlator::{Correlator, Recorded},
    limits::{NOTE, WORD, cut},
    reporter::Reporter,
    send::send,
    series::Key,
    target::Target,
    write::{Dropped, Outcome, Verb},
};
use crate::{
    client::{Client, Error},
    health::Lifeline,
    metrics::{EventMetrics, Metrics},
    resource::{Access, AccessRule, ObjectRef, Resource},
};

/// Records [`Event`]s about objects. Cloning shares what is remembered and sent.
///
/// Recording never waits and never fails; what becomes of it, [`EventMetrics`] counts. Nothing is sent before
/// [`start`](Self::start).
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
    reporter: Arc<Reporter>,
}

struct Shared {
    client: Client,
    metrics: EventMetrics,
    correlator: Mutex<Correlator>,
    /// Where the correlator's time begins.
    start: Instant,
    /// Something is to be sent at once.
    wake: Notify,
    started: AtomicBool,
    tasks: TaskTracker,
    /// Whether it was told in the log already that Events cannot be written, or their notes not be changed.
    complained: AtomicBool,
    complained_of_note: AtomicBool,
    lifeline: Lifeline,
}

impl Recorder {
    /// How many requests may be under way: one that is slow holds up no other.
    const IN_FLIGHT: usize = 8;

    /// A recorder for the controller of that name, `prefix/name` or only a name.
    pub fn new(client: &Client, controller: &str) -> Self {
        Self::with_metrics(client, controller, Metrics::new().events())
    }

    /// As [`new`](Self::new), with the series in which it counts.
    pub fn with_metrics(client: &Client, controller: &str, metrics: EventMetrics) -> Self {
        Self {
            reporter: Arc::new(Reporter::new(controller)),
            shared: Arc::new(Shared {
                client: client.clone(),
                metrics,
                correlator: Mutex::new(Correlator::new(Correlator::CAPACITY)),
                start: Instant::now(),
                wake: Notify::new(),
                started: AtomicBool::new(false),
                tasks: TaskTracker::new(),
                complained: AtomicBool::new(false),
                complained_of_note: AtomicBool::new(false),
                lifeline: Lifeline::new(),
            }),
        }
    }

    /// The same recorder under another controller's name.
    #[must_use]
    pub fn named(&self, controller: &str) -> Self {
        Self {
            shared: self.shared.clone(),
            reporter: Arc::new(Reporter::new(controller)),
        }
    }

    /// What a recorder needs to be allowed to do, in the namespaces of the objects and, for cluster-scoped ones, in
    /// `default`.
    pub fn access() -> Access {
        let events = |scoped: fn(AccessRule) -> AccessRule| {
            let created = scoped(AccessRule::of::<api::Event>(["create", "patch"]));
            // Only there the note of an Event can be changed.
            let noted = scoped(AccessRule::of::<core::Event>(["patch"]));
            Access::from(created).and(noted)
        };
        events(|rule| rule).and(events(|rule| rule.in_namespace("default")))
    }

    /// The name under which it records, as the API takes it.
    pub fn controller(&self) -> &str {
        &self.reporter.controller
    }

    /// Records that `event` happened to `object`. The Event goes to the namespace of the object, and to `default`
    /// for a cluster-scoped one.
    pub fn event<K: Resource>(&self, object: &K, event: Event) {
        self.record(Target::of(object), event);
    }

    /// As [`event`](Self::event), for an object of which only a reference is at hand.
    pub fn event_on(&self, object: &ObjectRef, event: Event) {
        self.record(Target::named(object), event);
    }

    fn record(&self, regarding: Target, event: Event) {
        let Event {
            kind,
            reason,
            action,
            note,
            related,
        } = event;
        let metrics = &self.shared.metrics;
        match kind {
            EventType::Normal => metrics.normal.inc(),
            EventType::Warning => metrics.warning.inc(),
        }
        let reason = word(reason, "Unknown".into());
        let key = Key {
            reporter: self.reporter.clone(),
            kind,
            action: word(action, reason.clone()),
            reason,
            regarding,
            related,
        };
        let note = cut(note, NOTE);
        let mut correlator = self.shared.correlator();
        let recorded = correlator.record(self.shared.now(), Timestamp::now(), key, note);
        metrics.series.set(correlator.len() as i64);
        drop(correlator);
        match recorded {
            Recorded::Started | Recorded::Repeated => self.shared.wake.notify_one(),
            Recorded::Dropped(why) => self.shared.count(why, 1),
        }
    }

    /// Sends what is recorded until `cancel`, or until [`shutdown`](Self::shutdown). Starting twice does nothing.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self, cancel: &CancellationToken) {
        if self.shared.started.swap(true, Ordering::Relaxed) {
            return;
        }
        let (shared, cancel) = (self.shared.clone(), cancel.clone());
        let sending = async move {
            let work = shared.lifeline.guard("events", shared.run().boxed());
            cancel.run_until_cancelled(work).await;
            shared.abandon();
        };
        self.shared.tasks.spawn(sending.boxed());
    }

    /// Whether the task that sends is alive.
    pub fn lifeline(&self) -> &Lifeline {
        &self.shared.lifeline
    }

    /// What was recorded and not sent, to be looked at instead of being sent; for a recorder that was not started.
    #[cfg(feature = "dev")]
    pub(crate) fn take_unsent(&self) -> Vec<api::Event> {
        let mut correlator = self.shared.correlator();
        let now = self.shared.now();
        let events =
            std::iter::from_fn(|| correlator.next(now)).map(|write| super::send::event(&write));
        let events = events.collect();
        *correlator = Correlator::new(Correlator::CAPACITY);
        events
    }

    /// Ends it: nothing is recorded any more, and what is unsent is sent now if `within` suffices for it. Whatever
    /// is left then is dropped and counted. It cannot be undone.
    pub async fn shutdown(&self, within: Duration) {
        self.shared.correlator().close();
        self.shared.wake.notify_one();
        self.shared.tasks.close();
        if timeout(within, self.shared.tasks.wait()).await.is_err() {
            self.shared.abandon();
            self.shared.wake.notify_one();
            self.shared.tasks.wait().await;
        }
        self.shared.abandon();
    }
}

/// A reason or an action, which must not be empty.
fn word(text: Cow<'static, str>, otherwise: Cow<'static, str>) -> Cow<'static, str> {
    match text.len() {
        0 => otherwise,
        1..=WORD => text,
        _ => cut(text.into_owned(), WORD).into(),
    }
}

impl Shared {
    fn correlator(&self) -> MutexGuard<'_, Correlator> {
        self.correlator
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Sends what it is time for, until everything is sent after the correlator was closed.
    async fn run(self: &Arc<Self>) {
        let mut requests = JoinSet::new();
        loop {
            let due = {
                let mut correlator = self.correlator();
                while requests.len() < Recorder::IN_FLIGHT
                    && let Some(write) = correlator.next(self.now())
                {
                    let shared = self.clone();
                    let sent = async move {
                        let (outcome, error) = send(&shared.client, &write).await;
                        shared.ended(write.id, write.verb, outcome, error);
                    };
                    requests.spawn(sent.boxed());
                }
                self.metrics.series.set(correlator.len() as i64);
                if correlator.is_closed() && correlator.unsent() == 0 {
                    return;
                }
                correlator.due()
            };
            let due = due.filter(|_| requests.len() < Recorder::IN_FLIGHT);
            // Whichever is lost is asked for again in the next round.
            tokio::select! {
                () = self.wake.notified() => {}
                Some(ended) = requests.join_next() => {
                    // A defect of ours. Its event would never be sent, nor given up.
                    if let Err(error) = ended
                        && let Ok(panic) = error.try_into_panic()
                    {
                        std::panic::resume_unwind(panic);
                    }
                }
                () = async {
                    match due {
                        Some(due) => sleep_until(self.start + due).await,
                        None => std::future::pending().await,
                    }
                } => {}
            }
        }
    }

    fn ended(&self, id: u64, verb: Verb, outcome: Outcome, error: Option<Error>) {
        let dropped = self.correlator().ended(self.now(), id, outcome);
        match (outcome, verb) {
            (Outcome::Done, Verb::Create) => self.metrics.created.inc(),
            (Outcome::Done, Verb::Patch { .. }) => self.metrics.patched.inc(),
            _ if dropped.is_none() => self.metrics.retries.inc(),
            _ => {}
        }
        dropped.into_iter().for_each(|why| self.count(why, 1));
        match (outcome, error) {
            (Outcome::Done, _) => self.complained.store(false, Ordering::Relaxed),
            // Usual in a cluster in which things come and go.
            (Outcome::NamespaceGone | Outcome::Exists | Outcome::Lost, _) | (_, None) => {}
            (Outcome::NoteRefused, Some(error)) => {
                if !self.complained_of_note.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        "Events keep the note that they had first: allow `patch` of `events` in the core group: {error}"
                    );
                }
            }
            (_, Some(error)) if self.complained.swap(true, Ordering::Relaxed) => {
                tracing::debug!("an Event was not written: {error}");
            }
            (_, Some(error)) => tracing::warn!(
                "an Event was not written, and the next ones that are not will be told only as debug messages: {error}"
            ),
        }
    }

    /// Gives up what is unsent.
    fn abandon(&self) {
        let mut correlator = self.correlator();
        let lost = correlator.unsent();
        *correlator = Correlator::new(0);
        correlator.close();
        drop(correlator);
        self.metrics.series.set(0);
        self.count(Dropped::Stopped, lost);
    }

    fn count(&self, why: Dropped, number: usize) {
        let metrics = &self.metrics;
        let counter = match why {
            Dropped::Spam => &metrics.spam,
            Dropped::Full => &metrics.full,
            Dropped::Refused => &metrics.refused,
            Dropped::Failed => &metrics.failed,
            Dropped::Namespace => &metrics.namespace,
            Dropped::Stopped => &metrics.stopped,
        };
        counter.inc_by(number as u64);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({})", self.reporter.controller)
    }
}
