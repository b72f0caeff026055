use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use k8s_openapi::api::{core::v1 as core, events::v1 as api};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    EventType, NewEvent,
    correlator::{Correlator, Recorded},
    limits::{NOTE, WORD, truncate},
    reporter::Reporter,
    send::send,
    series::SeriesKey,
    target::Target,
    write::{DropReason, Outcome, Verb},
};
use crate::{
    client::{Client, Error, MissingRule, role_advice},
    health::TaskMonitor,
    metrics::{EventMetrics, Metrics},
    resource::{Access, AccessRule, ObjectRef, Resource},
};

/// Records [`NewEvent`]s about objects. Clones share the series and the unsent events.
///
/// Recording never waits and never fails. The metrics `pilothouse_events_…` count the results. Nothing is sent before
/// [`start`](Self::start).
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
    reporter: Arc<Reporter>,
}

/// In how many namespaces a refusal of Events is logged as a warning.
const MOST_REFUSALS: usize = 64;

struct Shared {
    client: Client,
    metrics: EventMetrics,
    correlator: Mutex<Correlator>,
    /// The start of the correlator's clock.
    start: Instant,
    /// Notified when there is something new to send.
    wake: Notify,
    started: AtomicBool,
    tasks: TaskTracker,
    /// Whether a failed write was logged as a warning since the last success.
    logged_write_failure: AtomicBool,
    /// The namespaces in which a refused write was logged as a warning.
    logged_refusals: Mutex<BTreeSet<String>>,
    /// Whether it was logged that notes cannot be changed.
    logged_note_failure: AtomicBool,
    task_monitor: TaskMonitor,
}

impl Recorder {
    /// The number of requests that may run at once, so that a slow request does not delay the others.
    const IN_FLIGHT: usize = 8;

    /// Creates a recorder for the controller `controller`, which is `prefix/name` or only a name.
    pub fn new(client: &Client, controller: &str) -> Self {
        Self::with_metrics(client, controller, &Metrics::new())
    }

    /// As [`new`](Self::new), with the metrics that count its events.
    pub fn with_metrics(client: &Client, controller: &str, metrics: &Metrics) -> Self {
        Self {
            reporter: Arc::new(Reporter::new(controller)),
            shared: Arc::new(Shared {
                client: client.clone(),
                metrics: metrics.events(),
                correlator: Mutex::new(Correlator::new(Correlator::CAPACITY)),
                start: Instant::now(),
                wake: Notify::new(),
                started: AtomicBool::new(false),
                tasks: TaskTracker::new(),
                logged_write_failure: AtomicBool::new(false),
                logged_refusals: Mutex::default(),
                logged_note_failure: AtomicBool::new(false),
                task_monitor: TaskMonitor::new(),
            }),
        }
    }

    /// The same recorder for events of another controller.
    #[must_use]
    pub fn named(&self, controller: &str) -> Self {
        Self {
            shared: self.shared.clone(),
            reporter: Arc::new(Reporter::new(controller)),
        }
    }

    /// The permissions that a recorder needs, in the namespaces of the objects and in `default`, where the
    /// events of cluster-scoped objects are.
    pub fn access() -> Access {
        Self::access_about(true).and(Self::access_about(false))
    }

    /// The part of [`access`](Self::access) for Events about objects that are namespaced, or about those that are not.
    pub(crate) fn access_about(namespaced: bool) -> Access {
        match namespaced {
            true => Self::access_where(|rule| rule),
            false => Self::access_in("default"),
        }
    }

    /// The permissions for Events in one namespace.
    pub(crate) fn access_in(namespace: &str) -> Access {
        Self::access_where(|rule| rule.in_namespace(namespace))
    }

    fn access_where(scoped: impl Fn(AccessRule) -> AccessRule) -> Access {
        let created = scoped(AccessRule::of::<api::Event>(["create", "patch"]));
        // Only core/v1 can change the note of an Event.
        let noted = scoped(AccessRule::of::<core::Event>(["patch"]));
        Access::from(created).and(noted)
    }

    /// The controller's name in the recorded events, as a valid name in the API.
    pub fn controller(&self) -> &str {
        &self.reporter.controller
    }

    /// Records `event` about `object`. The Event is written to the object's namespace, or to `default` for
    /// a cluster-scoped object.
    pub fn event<K: Resource>(&self, object: &K, event: NewEvent) {
        self.record(Target::of(object), event);
    }

    /// As [`event`](Self::event), for a caller that has only a reference to the object.
    pub fn event_on(&self, object: &ObjectRef, event: NewEvent) {
        self.record(Target::from_ref(object), event);
    }

    fn record(&self, regarding: Target, event: NewEvent) {
        let NewEvent {
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
        let key = SeriesKey {
            reporter: self.reporter.clone(),
            kind,
            action: word(action, reason.clone()),
            reason,
            regarding,
            related,
        };
        let note = truncate(note, NOTE);
        let mut correlator = self.shared.correlator.lock();
        let at = self.shared.client.clock().now();
        let recorded = correlator.record(self.shared.now(), at, key, note);
        metrics.series.set(correlator.len() as i64);
        drop(correlator);
        match recorded {
            Recorded::Started | Recorded::Repeated => self.shared.wake.notify_one(),
            Recorded::Dropped(why) => self.shared.count(why, 1),
        }
    }

    /// Starts the task that sends events until `cancel`, or until [`shutdown`](Self::shutdown). A second
    /// call does nothing.
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime.
    pub fn start(&self, cancel: &CancellationToken) {
        if self.shared.started.swap(true, Ordering::Relaxed) {
            return;
        }
        let (shared, cancel) = (self.shared.clone(), cancel.clone());
        let sending = async move {
            let work = shared.task_monitor.run("events", shared.run().boxed());
            cancel.run_until_cancelled(work).await;
            shared.abandon();
        };
        self.shared.tasks.spawn(sending.boxed());
    }

    /// Reports whether the sending task is alive.
    pub fn task_monitor(&self) -> &TaskMonitor {
        &self.shared.task_monitor
    }

    /// Returns the unsent events instead of sending them, for a recorder that was not started.
    #[cfg(feature = "dev")]
    pub(crate) fn take_unsent(&self) -> Vec<api::Event> {
        let mut correlator = self.shared.correlator.lock();
        let now = self.shared.now();
        let events =
            std::iter::from_fn(|| correlator.next(now)).map(|write| super::send::event(&write));
        let events = events.collect();
        *correlator = Correlator::new(Correlator::CAPACITY);
        events
    }

    /// Stops the recorder for good: new events are dropped, and unsent events are sent now. Events that are
    /// still unsent after `within` are dropped and counted.
    pub async fn shutdown(&self, within: Duration) {
        self.shared.correlator.lock().close();
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

/// A reason or an action. The API requires a text, so an empty one becomes `otherwise`.
fn word(text: Cow<'static, str>, otherwise: Cow<'static, str>) -> Cow<'static, str> {
    match text.len() {
        0 => otherwise,
        1..=WORD => text,
        _ => truncate(text.into_owned(), WORD).into(),
    }
}

impl Shared {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Sends due writes until everything is sent after the correlator was closed.
    async fn run(self: &Arc<Self>) {
        let mut requests = JoinSet::new();
        loop {
            let due = {
                let mut correlator = self.correlator.lock();
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
            // Losing a branch is safe: the next round asks again.
            tokio::select! {
                () = self.wake.notified() => {}
                Some(ended) = requests.join_next() => {
                    // A defect of the framework. The event of that request would stay unsent for ever.
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
        let dropped = self.correlator.lock().ended(self.now(), id, outcome);
        match (outcome, verb) {
            (Outcome::Done, Verb::Create) => self.metrics.created.inc(),
            (Outcome::Done, Verb::Patch { .. }) => self.metrics.patched.inc(),
            _ if dropped.is_none() => self.metrics.retries.inc(),
            _ => {}
        }
        dropped.into_iter().for_each(|why| self.count(why, 1));
        match (outcome, error) {
            (Outcome::Done, _) => {
                self.logged_write_failure.store(false, Ordering::Relaxed);
            }
            // Expected in a cluster where namespaces and Events are deleted.
            (Outcome::NamespaceGone | Outcome::Exists | Outcome::Lost, _) | (_, None) => {}
            (Outcome::NoteRefused, Some(error)) => {
                if !self.logged_note_failure.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        "the notes of Events are not updated: allow `patch` for `events` of the core group: {error}"
                    );
                }
            }
            (Outcome::Refused, Some(error)) if error.is_forbidden() => {
                let message = error.status().map_or("", |status| &*status.message);
                let namespace = MissingRule::of(message).and_then(|rule| rule.namespace);
                let mut logged = self.logged_refusals.lock();
                let is_new = logged.len() < MOST_REFUSALS
                    && logged.insert(namespace.unwrap_or_default().to_owned());
                drop(logged);
                match is_new {
                    true => tracing::warn!(
                        "the API server refuses Events (further refusals in this namespace are logged at debug level): {}",
                        self.with_missing_rule(error)
                    ),
                    false => tracing::debug!("writing an Event failed: {error}"),
                }
            }
            (_, Some(error)) if self.logged_write_failure.swap(true, Ordering::Relaxed) => {
                tracing::debug!("writing an Event failed: {error}");
            }
            (_, Some(error)) => tracing::warn!(
                "writing an Event failed, further failures are logged at debug level: {error}"
            ),
        }
    }

    /// Adds the whole rule that Events need, if the authorizer refused one.
    fn with_missing_rule(&self, error: Error) -> Error {
        let message = error.status().map_or("", |status| &*status.message);
        let Some(rule) = MissingRule::of(message) else {
            return error;
        };
        let everywhere = self.client.inner.all_namespaces;
        let namespace = rule.namespace.filter(|_| !everywhere);
        let groups = ["", rule.group];
        let groups = if rule.group.is_empty() {
            &groups[..1]
        } else {
            &groups
        };
        let advice = role_advice(message, namespace, groups, "events", &["create", "patch"]);
        error.with_hint(Some(advice.into()))
    }

    /// Drops and counts all unsent events.
    fn abandon(&self) {
        let mut correlator = self.correlator.lock();
        let lost = correlator.unsent();
        *correlator = Correlator::new(0);
        correlator.close();
        drop(correlator);
        self.metrics.series.set(0);
        self.count(DropReason::Stopped, lost);
    }

    fn count(&self, why: DropReason, number: usize) {
        let metrics = &self.metrics;
        let counter = match why {
            DropReason::Spam => &metrics.spam,
            DropReason::Full => &metrics.full,
            DropReason::Refused => &metrics.refused,
            DropReason::Failed => &metrics.failed,
            DropReason::Namespace => &metrics.namespace,
            DropReason::Stopped => &metrics.stopped,
        };
        counter.inc_by(number as u64);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({})", self.reporter.controller)
    }
}
