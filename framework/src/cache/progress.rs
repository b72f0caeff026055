use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{Event, InformerMode, PartStatus, Snapshot, remedy::remedy};
use crate::{
    client::Error,
    events::{self, Recorder},
    metrics::{InformerMetrics, LastHeard, Metrics, Share},
    resource::{ApiResource, Object, Undecodable},
};

/// What a reflector tells about its work.
#[derive(Debug)]
pub(super) struct Progress {
    resource: ApiResource,
    namespace: Option<String>,
    metrics: InformerMetrics,
    /// What this informer adds to the kind's series.
    shares: Shares,
    last_heard: LastHeard,
    events: Option<Recorder>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct Shares {
    objects: Share,
    undecodable: Share,
    queued: Share,
}

/// What is wrong with one kind of requests.
#[derive(Debug)]
struct Trouble {
    text: String,
    /// The server does not know the kind.
    not_served: bool,
    forbidden: bool,
    since: Instant,
}

impl State {
    fn trouble(&mut self, verb: &str) -> &mut Option<Trouble> {
        match verb {
            "watch" => &mut self.watch_trouble,
            _ => &mut self.list_trouble,
        }
    }

    /// Without lists there is nothing to watch.
    fn worst(&self) -> Option<&Trouble> {
        self.list_trouble.as_ref().or(self.watch_trouble.as_ref())
    }
}

/// The series of the informers of `resource`.
pub(super) fn metrics_of(metrics: &Metrics, resource: &ApiResource) -> InformerMetrics {
    metrics.informer(&resource.group, &resource.version, &resource.plural)
}

#[derive(Debug, Default)]
struct State {
    mode: InformerMode,
    list_trouble: Option<Trouble>,
    /// A list that works does not mend a watch.
    watch_trouble: Option<Trouble>,
    heard: Option<Instant>,
    synced: bool,
    /// The first list is complete.
    listed: bool,
    /// The cache holds all changes that the API server had made by then.
    consistent: Option<Instant>,
}

impl Progress {
    pub(super) fn new(
        resource: ApiResource,
        namespace: Option<String>,
        metrics: InformerMetrics,
    ) -> Self {
        Self {
            resource,
            namespace,
            shares: Shares {
                objects: Share::of(&metrics.objects),
                undecodable: Share::of(&metrics.undecodable),
                queued: Share::of(&metrics.queued),
            },
            last_heard: metrics.last_heard(),
            metrics,
            events: None,
            state: Mutex::default(),
        }
    }

    /// The same, which tells also there what does not decode.
    pub(super) fn recording(self, events: Option<Recorder>) -> Self {
        Self { events, ..self }
    }

    /// A list is complete. `newest` is when it was asked for, if it was asked for the newest state.
    pub(super) fn listed(&self, newest: Option<Instant>) {
        let mut state = self.state();
        // What counts is in the cache when it has synced, which is known of the first list only.
        if !std::mem::replace(&mut state.listed, true) {
            state.consistent = newest;
        }
    }

    /// The cache holds all changes that the API server had made by `moment`.
    pub(super) fn became_consistent(&self, moment: Instant) {
        let mut state = self.state();
        state.consistent = state.consistent.max(Some(moment));
    }

    /// Whether the cache is known to hold all changes that the API server had made by `moment`, or by any moment.
    pub(super) fn is_consistent_since(&self, moment: Option<Instant>) -> bool {
        let state = self.state();
        state.synced
            && match moment {
                Some(moment) => state.consistent >= Some(moment),
                None => state.consistent.is_some(),
            }
    }

    pub(super) fn is_of(&self, namespace: Option<&str>) -> bool {
        self.namespace.as_deref() == namespace
    }

    pub(super) fn enter(&self, mode: InformerMode) {
        self.state().mode = mode;
    }

    pub(super) fn listing(&self, reason: &'static str) {
        self.enter(InformerMode::Listing);
        self.metrics.listing(reason);
        tracing::debug!(resource = %self.resource, namespace = self.namespace, reason, "listing");
    }

    pub(super) fn connecting(&self, reason: &'static str) {
        self.enter(InformerMode::Connecting);
        self.metrics.watching(reason);
        tracing::debug!(resource = %self.resource, namespace = self.namespace, reason, "watching");
    }

    /// A batch has reached the store.
    pub(super) fn processed<K: Object>(&self, events: &[Event<K>], snapshot: &Snapshot<K>) {
        for event in events {
            // A version that was seen already makes no event, so each is logged once.
            if let Event::Undecodable { object, .. } = event {
                self.undecodable(object);
            }
        }
        self.metrics
            .reached(snapshot.resource_version().unwrap_or_default());
        self.shares.objects.set(snapshot.len());
        self.shares.undecodable.set(snapshot.undecodable());
    }

    fn undecodable(&self, object: &Undecodable) {
        self.metrics.decode_errors.inc();
        tracing::warn!(
            "{object}: correct the object or the program's type, until then it is left alone"
        );
        if let Some(events) = &self.events {
            let event = events::Event::warning("Undecodable", "Decode").note(format!(
                "left alone until it is corrected: {}",
                object.reason
            ));
            events.event_on(&object.reference(), event);
        }
    }

    pub(super) fn stopped(&self) {
        self.shares.objects.set(0);
        self.shares.undecodable.set(0);
        self.shares.queued.set(0);
        self.enter(InformerMode::Stopped);
    }

    /// So many deltas wait for the store.
    pub(super) fn queued(&self, deltas: usize) {
        self.shares.queued.set(deltas);
    }

    /// An index function gave no values for an object.
    pub(super) fn index_failed(&self, panicked: bool) {
        self.metrics.index_errors.inc();
        if panicked {
            self.metrics.listener_panics.inc();
        }
    }

    /// An event or a page came.
    pub(super) fn heard(&self) {
        self.last_heard.now();
        self.state().heard = Some(Instant::now());
    }

    /// Requests of that verb work again.
    pub(super) fn recovered(&self, verb: &str) {
        self.heard();
        let mut state = self.state();
        let trouble = state.trouble(verb).take();
        let is_well = state.worst().is_none();
        drop(state);
        if trouble.is_some() && is_well {
            tracing::info!(resource = %self.resource, namespace = self.namespace, "informer recovered");
        }
    }

    /// A request failed. Each failure is logged once, however often it comes back.
    pub(super) fn failed(&self, verb: &str, error: &Error) {
        let mut text = format!("cannot {verb} {}: {}", self.target(), reason(error));
        if let Some(remedy) = remedy(&self.resource, self.namespace.as_deref(), error) {
            text += &format!(": {remedy}");
        }
        let forbidden = error.is_forbidden();
        if forbidden && verb == "watch" {
            text += "; until it may, it lists again and again";
        }
        let trouble = Trouble {
            text,
            not_served: error.is_not_found(),
            forbidden,
            since: Instant::now(),
        };
        self.note(verb, trouble);
    }

    /// Something else than a request went wrong.
    pub(super) fn troubled(&self, verb: &str, trouble: &str) {
        let trouble = Trouble {
            text: format!("cannot {verb} {}: {trouble}", self.target()),
            not_served: false,
            forbidden: false,
            since: Instant::now(),
        };
        self.note(verb, trouble);
    }

    fn note(&self, verb: &str, trouble: Trouble) {
        self.metrics.errors.inc();
        let text = trouble.text.clone();
        let mut state = self.state();
        let present = state.trouble(verb);
        let since = present
            .as_ref()
            .map_or(trouble.since, |before| before.since);
        let before = present.replace(Trouble { since, ..trouble });
        drop(state);
        if before.is_some_and(|before| before.text == text) {
            tracing::debug!("{text}");
        } else {
            tracing::warn!("{text}");
        }
    }

    /// A streamed list is read in pages instead.
    pub(super) fn fell_back(&self, reason: &'static str) {
        self.metrics.fell_back(reason);
        tracing::debug!(resource = %self.resource, namespace = self.namespace, reason, "listing in pages");
    }

    /// So many objects came that have no name.
    pub(super) fn misfits(&self, count: usize) {
        let is_first = self.metrics.misfits.get() == 0;
        self.metrics.misfits.inc_by(count as u64);
        if is_first {
            tracing::warn!(
                "{count} objects without a name came for {}: left out, and further ones are only counted",
                self.target()
            );
        }
    }

    /// A watch was opened; it is open for as long as what this gives is there.
    pub(super) fn open_watch(&self) -> Share {
        self.metrics.opened();
        Share::of(&self.metrics.open_watches)
    }

    /// To be counted among the lists that wait.
    pub(super) fn waiting_list(&self) -> Share {
        Share::of(&self.metrics.waiting_lists)
    }

    pub(super) fn mode(&self) -> InformerMode {
        self.state().mode
    }

    /// The first list has been worked on.
    pub(super) fn synced(&self) {
        self.state().synced = true;
    }

    pub(super) fn status(&self) -> PartStatus {
        let state = self.state();
        PartStatus {
            namespace: self.namespace.clone(),
            synced: state.synced,
            mode: state.mode,
            last_error: state.worst().map(|trouble| trouble.text.clone()),
        }
    }

    pub(super) fn last_error(&self) -> Option<String> {
        self.state().worst().map(|trouble| trouble.text.clone())
    }

    /// How long ago the trouble began.
    pub(super) fn failing_for(&self) -> Option<Duration> {
        self.state().worst().map(|trouble| trouble.since.elapsed())
    }

    pub(super) fn not_served(&self) -> bool {
        self.state()
            .worst()
            .is_some_and(|trouble| trouble.not_served)
    }

    pub(super) fn forbidden(&self) -> bool {
        self.state()
            .worst()
            .is_some_and(|trouble| trouble.forbidden)
    }

    pub(super) fn silent_for(&self) -> Option<Duration> {
        self.state().heard.map(|heard| heard.elapsed())
    }

    /// `deployments.apps in namespace "x"`.
    fn target(&self) -> String {
        let plural = self.resource.qualified_plural();
        match (&self.namespace, self.resource.namespaced) {
            (Some(namespace), _) => format!("{plural} in namespace \"{namespace}\""),
            (None, true) => format!("{plural} in all namespaces"),
            (None, false) => plural,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error without verb and target, which are told already.
fn reason(error: &Error) -> String {
    let text = error.to_string();
    let (Error::Api { verb, target, .. }
    | Error::Connect { verb, target, .. }
    | Error::Transport { verb, target, .. }
    | Error::Timeout { verb, target, .. }
    | Error::Fenced { verb, target, .. }
    | Error::Lagged { verb, target, .. }
    | Error::Decode { verb, target, .. }
    | Error::NoProgress { verb, target, .. }
    | Error::Invalid { verb, target, .. }) = error
    else {
        return text;
    };
    match text.strip_prefix(&format!("{verb} {target}: ")) {
        Some(reason) => reason.to_owned(),
        None => text,
    }
}
