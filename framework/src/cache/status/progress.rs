use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    InformerMode, NamespaceStatus,
    error_hint::error_hint,
    informer_failure::{FailureHandlers, InformerFailure},
    report_limit::ReportLimit,
};
use crate::{
    cache::{Event, Snapshot},
    client::{Change, Error, WatchEvent},
    events::{self, Recorder},
    metrics::{GaugeShare, InformerMetrics, LastEvent, Metrics},
    resource::{ApiResource, Object, Undecodable},
};

/// What a reflector reports about its work: the status, the metrics and the log.
#[derive(Debug)]
pub(in crate::cache) struct Progress {
    resource: ApiResource,
    namespace: Option<String>,
    metrics: InformerMetrics,
    /// What this informer adds to the metrics of its kind.
    shares: Shares,
    last_event: LastEvent,
    events: Option<Recorder>,
    undecodable_reports: Mutex<ReportLimit>,
    /// The functions of the program that receive each failure.
    handlers: FailureHandlers,
    started: Instant,
    state: Mutex<ProgressState>,
}

#[derive(Debug)]
struct Shares {
    objects: GaugeShare,
    undecodable: GaugeShare,
    queued: GaugeShare,
}

/// The failure of one verb that still lasts.
#[derive(Debug)]
struct OngoingFailure {
    text: String,
    /// The server does not know the kind.
    not_served: bool,
    forbidden: bool,
    /// When requests of this verb began to fail, with whatever error.
    since: Instant,
}

impl ProgressState {
    fn failure(&mut self, verb: &str) -> &mut Option<OngoingFailure> {
        match verb {
            "watch" => &mut self.watch_failure,
            _ => &mut self.list_failure,
        }
    }

    /// A failure of lists comes first: without lists there is nothing to watch.
    fn worst(&self) -> Option<&OngoingFailure> {
        self.list_failure.as_ref().or(self.watch_failure.as_ref())
    }
}

/// The metrics of the informers of `resource`.
pub(in crate::cache) fn metrics_of(metrics: &Metrics, resource: &ApiResource) -> InformerMetrics {
    metrics.informer(&resource.group, &resource.version, &resource.plural)
}

#[derive(Debug, Default)]
struct ProgressState {
    mode: InformerMode,
    list_failure: Option<OngoingFailure>,
    /// Separate, because a list that succeeds does not fix a watch.
    watch_failure: Option<OngoingFailure>,
    received: Option<Instant>,
    /// When the metric of the last event was set.
    recorded: Option<Instant>,
    synced: bool,
    /// The first list is complete.
    list_completed: bool,
    /// The cache holds all changes that the API server had made by this moment.
    consistent: Option<Instant>,
}

impl Progress {
    /// The metric of the last event is set once in this time, because a burst has events by the thousand.
    const RECORD_PERIOD: Duration = Duration::from_millis(100);

    pub(in crate::cache) fn new(
        resource: ApiResource,
        namespace: Option<String>,
        metrics: InformerMetrics,
    ) -> Self {
        Self {
            resource,
            namespace,
            shares: Shares {
                objects: GaugeShare::of(&metrics.objects),
                undecodable: GaugeShare::of(&metrics.undecodable),
                queued: GaugeShare::of(&metrics.queued),
            },
            last_event: metrics.last_event(),
            metrics,
            events: None,
            undecodable_reports: Mutex::new(ReportLimit::new(Instant::now())),
            handlers: FailureHandlers::default(),
            started: Instant::now(),
            state: Mutex::default(),
        }
    }

    /// Also records an Event about each object that does not decode.
    pub(in crate::cache) fn recording(self, events: Option<Recorder>) -> Self {
        Self { events, ..self }
    }

    /// Also calls `handlers` with each failure.
    pub(in crate::cache) fn reporting_to(self, handlers: FailureHandlers) -> Self {
        Self { handlers, ..self }
    }

    /// Reports that a list is complete. `newest` is when the list was requested, if the newest state was requested.
    pub(in crate::cache) fn list_completed(&self, newest: Option<Instant>) {
        let mut state = self.state.lock();
        // The state counts from the moment at which it has been processed, and that moment is known for the first
        // list only.
        if !std::mem::replace(&mut state.list_completed, true) {
            state.consistent = newest;
        }
    }

    /// Reports that the cache holds all changes that the API server had made by `moment`.
    pub(in crate::cache) fn became_consistent(&self, moment: Instant) {
        let mut state = self.state.lock();
        state.consistent = state.consistent.max(Some(moment));
    }

    /// Whether the cache is known to hold all changes that the API server had made by `moment`, or by any moment if
    /// it is `None`.
    pub(in crate::cache) fn is_consistent_since(&self, moment: Option<Instant>) -> bool {
        let state = self.state.lock();
        state.synced
            && match moment {
                Some(moment) => state.consistent >= Some(moment),
                None => state.consistent.is_some(),
            }
    }

    pub(in crate::cache) fn is_of(&self, namespace: Option<&str>) -> bool {
        self.namespace.as_deref() == namespace
    }

    pub(in crate::cache) fn enter(&self, mode: InformerMode) {
        self.state.lock().mode = mode;
    }

    pub(in crate::cache) fn listing(&self, reason: &'static str) {
        self.enter(InformerMode::Listing);
        self.metrics.listing(reason);
        tracing::debug!(resource = %self.resource, namespace = self.namespace, reason, "listing");
    }

    pub(in crate::cache) fn connecting(&self, reason: &'static str) {
        self.enter(InformerMode::Connecting);
        self.metrics.watching(reason);
        tracing::debug!(resource = %self.resource, namespace = self.namespace, reason, "watching");
    }

    /// Reports that a batch has reached the store.
    pub(in crate::cache) fn processed<K: Object>(
        &self,
        events: &[Event<K>],
        snapshot: &Snapshot<K>,
    ) {
        for event in events {
            // A version that was seen already causes no event, so that each version is logged once. One that turns out not
            // to decode after it was stored is reported by `found_undecodable`.
            if let Some(object) = event.undecodable().filter(|_| event.entry().is_place()) {
                self.undecodable(object);
            }
        }
        self.metrics
            .reached(snapshot.resource_version().unwrap_or_default());
        self.shares.objects.set(snapshot.len());
        self.shares.undecodable.set(snapshot.undecodable());
    }

    /// Reports objects of the store that turned out not to decode.
    pub(in crate::cache) fn found_undecodable<K: Object>(
        &self,
        objects: &[Arc<Undecodable>],
        snapshot: &Snapshot<K>,
    ) {
        for object in objects {
            self.undecodable(object);
        }
        self.shares.undecodable.set(snapshot.undecodable());
    }

    /// Counts an object that does not decode. Reports it in the log and as an Event, unless there are too many.
    fn undecodable(&self, object: &Undecodable) {
        self.metrics.decode_errors.inc();
        let more = match self.undecodable_reports.lock().take(Instant::now()) {
            None => return,
            Some(0) => String::new(),
            Some(more) => format!(" (and {more} more since the last such line)"),
        };
        tracing::warn!(
            "{object}: ignored until the object or the program's type is corrected{more}"
        );
        // Without its namespace the Event would get into another one.
        let is_placed = !object.resource.namespaced || object.key.namespace().is_some();
        if let Some(events) = self.events.as_ref().filter(|_| is_placed) {
            let event = events::NewEvent::warning("Undecodable", "Decode")
                .note(format!("ignored until it is corrected: {}", object.reason));
            events.event_on(&object.reference(), event);
        }
    }

    pub(in crate::cache) fn stopped(&self) {
        self.shares.objects.set(0);
        self.shares.undecodable.set(0);
        self.shares.queued.set(0);
        self.enter(InformerMode::Stopped);
    }

    /// Sets how many deltas wait for the store.
    pub(in crate::cache) fn set_queued(&self, deltas: usize) {
        self.shares.queued.set(deltas);
    }

    /// Counts an index function that returned no values for an object.
    pub(in crate::cache) fn index_failed(&self, panicked: bool) {
        self.metrics.index_errors.inc();
        if panicked {
            self.metrics.listener_panics.inc();
        }
    }

    /// Reports that an event or a page arrived.
    pub(in crate::cache) fn received(&self) {
        let now = Instant::now();
        let mut state = self.state.lock();
        state.received = Some(now);
        let is_due = |at| now.duration_since(at) >= Self::RECORD_PERIOD;
        if state.recorded.is_none_or(is_due) {
            state.recorded = Some(now);
            drop(state);
            self.last_event.record_now();
        }
    }

    /// Counts an event of a watch.
    pub(in crate::cache) fn watched<K>(&self, event: &WatchEvent<K>) {
        let events = &self.metrics.watch_events;
        let counter = match event {
            WatchEvent::Added(_) => &events.added,
            WatchEvent::Modified(_) => &events.modified,
            WatchEvent::Deleted(_) => &events.deleted,
            WatchEvent::Bookmark { .. } => &events.bookmark,
            WatchEvent::Undecodable { change, .. } => match change {
                Change::Added => &events.added,
                Change::Modified => &events.modified,
                Change::Deleted => &events.deleted,
            },
        };
        counter.inc();
        self.received();
    }

    /// Measures a complete list that began at `began`.
    pub(in crate::cache) fn observe_list(&self, began: Instant) {
        let took = began.elapsed().as_secs_f64();
        self.metrics.list_seconds.observe(took);
    }

    /// Reports that requests with this verb succeed again.
    pub(in crate::cache) fn recovered(&self, verb: &str) {
        self.received();
        let mut state = self.state.lock();
        let failure = state.failure(verb).take();
        let is_well = state.worst().is_none();
        drop(state);
        if failure.is_some() && is_well {
            tracing::info!(resource = %self.resource, namespace = self.namespace, "informer recovered");
        }
    }

    /// Reports a failed request. Each failure is logged once, however often it repeats.
    pub(in crate::cache) fn failed(&self, verb: &str, error: &Error) {
        let reason = match error_hint(&self.resource, self.namespace.as_deref(), error) {
            Some(error_hint) => error.reason_with_hint(&error_hint),
            None => error.reason(),
        };
        let mut text = format!("cannot {verb} {}: {reason}", self.target());
        let forbidden = error.is_forbidden();
        if forbidden && verb == "watch" {
            text += "; until then the cache is refreshed by lists";
        }
        let failure = OngoingFailure {
            text,
            not_served: error.is_not_found(),
            forbidden,
            since: Instant::now(),
        };
        self.record_failure(verb, failure, Some(error));
    }

    /// Reports a failure that no error describes.
    pub(in crate::cache) fn failed_because(&self, verb: &str, failure: &str) {
        let failure = OngoingFailure {
            text: format!("cannot {verb} {}: {failure}", self.target()),
            not_served: false,
            forbidden: false,
            since: Instant::now(),
        };
        self.record_failure(verb, failure, None);
    }

    fn record_failure(&self, verb: &str, mut failure: OngoingFailure, error: Option<&Error>) {
        self.metrics.errors.inc();
        let text = failure.text.clone();
        let mut state = self.state.lock();
        let recorded = state.failure(verb);
        if let Some(before) = recorded {
            failure.since = before.since;
        }
        let before = recorded.replace(failure);
        drop(state);
        if before.is_some_and(|before| before.text == text) {
            tracing::debug!("{text}");
        } else {
            tracing::warn!("{text}");
        }
        let panics = self.handlers.call(&InformerFailure {
            resource: &self.resource,
            namespace: self.namespace.as_deref(),
            verb,
            error,
            text: &text,
        });
        self.metrics.listener_panics.inc_by(panics);
    }

    /// Reports that a streamed list is read in pages instead.
    pub(in crate::cache) fn fell_back_to_pages(&self, reason: &'static str) {
        self.metrics.fell_back(reason);
        tracing::debug!(resource = %self.resource, namespace = self.namespace, reason, "listing in pages");
    }

    /// Reports objects without a name.
    pub(in crate::cache) fn unnamed_objects(&self, count: usize) {
        let is_first = self.metrics.misfits.get() == 0;
        self.metrics.misfits.inc_by(count as u64);
        if is_first {
            tracing::warn!(
                "left out {count} objects without a name in the answer for {}: further ones are only counted",
                self.target()
            );
        }
    }

    /// Counts a watch as open until the result is dropped.
    pub(in crate::cache) fn open_watch(&self) -> GaugeShare {
        self.metrics.opened();
        GaugeShare::of(&self.metrics.open_watches)
    }

    /// Counts a list as waiting once it is set.
    pub(in crate::cache) fn waiting_list(&self) -> GaugeShare {
        GaugeShare::of(&self.metrics.waiting_lists)
    }

    pub(in crate::cache) fn mode(&self) -> InformerMode {
        self.state.lock().mode
    }

    /// Reports that the first list has been processed.
    pub(in crate::cache) fn synced(&self) {
        self.state.lock().synced = true;
    }

    pub(in crate::cache) fn status(&self) -> NamespaceStatus {
        let state = self.state.lock();
        NamespaceStatus {
            namespace: self.namespace.clone(),
            synced: state.synced,
            mode: state.mode,
            last_error: state.worst().map(|failure| failure.text.clone()),
        }
    }

    pub(in crate::cache) fn last_error(&self) -> Option<String> {
        self.state
            .lock()
            .worst()
            .map(|failure| failure.text.clone())
    }

    /// For how long the present failure has lasted; without one, for how long the first list has taken so far.
    pub(in crate::cache) fn unhealthy_for(&self) -> Option<Duration> {
        let state = self.state.lock();
        let unsynced = (!state.synced).then_some(self.started);
        let since = state.worst().map(|failure| failure.since).or(unsynced);
        since.map(|since| since.elapsed())
    }

    pub(in crate::cache) fn not_served(&self) -> bool {
        self.state
            .lock()
            .worst()
            .is_some_and(|failure| failure.not_served)
    }

    pub(in crate::cache) fn forbidden(&self) -> bool {
        self.state
            .lock()
            .worst()
            .is_some_and(|failure| failure.forbidden)
    }

    pub(in crate::cache) fn silent_for(&self) -> Option<Duration> {
        self.state
            .lock()
            .received
            .map(|received| received.elapsed())
    }

    /// Returns text such as `deployments.apps in namespace "x"`.
    fn target(&self) -> String {
        let plural = self.resource.qualified_plural();
        match (&self.namespace, self.resource.namespaced) {
            (Some(namespace), _) => format!("{plural} in namespace \"{namespace}\""),
            (None, true) => format!("{plural} in all namespaces"),
            (None, false) => plural,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::metrics::Metrics;

    #[tokio::test(start_paused = true)]
    async fn the_metric_of_the_last_event_is_set_again_after_a_while() {
        let metrics = Metrics::new();
        let informer = metrics.informer("", "v1", "configmaps");
        let progress = Progress::new(ApiResource::of::<ConfigMap>(), None, informer);
        let received = |after: Duration| {
            let metrics = &metrics;
            let progress = &progress;
            async move {
                tokio::time::advance(after).await;
                progress.received();
                let text = metrics.encode();
                let name = "pilothouse_informer_last_event_timestamp_seconds{";
                let line = text.lines().find(|line| line.starts_with(name));
                line.expect("the metric").to_owned()
            }
        };
        let first = received(Duration::ZERO).await;
        assert_eq!(received(Progress::RECORD_PERIOD / 2).await, first);
        assert_ne!(received(Progress::RECORD_PERIOD / 2).await, first);
    }
}
