use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
    Registry,
};

use super::{
    LastHeard, ListenerMetrics, Share, Use, buckets,
    last_heard::Heard,
    listener::ListenerFamilies,
    metrics,
    uses::{Uses, remove},
};

/// What the informers of one kind do.
///
/// The series of client-go (`informer_…`) bear the labels `group`, `version`, `resource`, and `name`,
/// which is empty as for an informer factory without a name; ours (`pilothouse_informer_…`) have the plural
/// with its group in `resource`, as RBAC names it (`deployments.apps`).
///
/// Informers of one kind with different scopes share the series: each has a [`Share`](super::Share)
/// of a gauge, and never sets it. Cloning shares the series.
#[derive(Clone, Debug)]
pub struct InformerMetrics {
    /// Objects held now.
    pub objects: IntGauge,
    /// Objects held now that do not decode.
    pub undecodable: IntGauge,
    /// Changes that were read and have not reached the store yet (client-go's `informer_queued_items`).
    pub queued: IntGauge,
    /// Time in which a batch of deltas is brought to the store and its listeners (client-go's
    /// `informer_processing_latency_seconds`).
    pub processing: Histogram,
    /// Seconds that a list took, streamed or in pages, from its first request to its end. A list that failed does not
    /// count.
    pub list_seconds: Histogram,
    /// Events that watches brought.
    pub watch_events: WatchEventMetrics,
    /// Watches that are open.
    pub open_watches: IntGauge,
    /// Reads of a whole collection that wait for others to end.
    pub waiting_lists: IntGauge,
    /// Lists and watches that failed.
    pub errors: IntCounter,
    /// Versions of objects that did not decode.
    pub decode_errors: IntCounter,
    /// Events that were dropped because their object is none of the kind, or has no name.
    pub misfits: IntCounter,
    /// Objects that an index function failed for.
    pub index_errors: IntCounter,
    /// Objects that a transform failed for.
    pub transform_errors: IntCounter,
    /// Listeners and index functions that panicked.
    pub listener_panics: IntCounter,
    last_event: Gauge,
    last_watch: Gauge,
    sync_time: Gauge,
    store_version: IntGauge,
    families: InformerFamilies,
    kind: Arc<Kind>,
}

/// How many events the watches of a kind brought. Those of the state that a streamed list begins with do not count: the
/// list counts.
#[derive(Clone, Debug)]
pub struct WatchEventMetrics {
    /// Objects that are new, or began to match.
    pub added: IntCounter,
    /// Objects that changed.
    pub modified: IntCounter,
    /// Objects that are gone, or no longer match.
    pub deleted: IntCounter,
    /// Versions without a change.
    pub bookmark: IntCounter,
}

#[derive(Debug)]
struct Kind {
    group: String,
    version: String,
    plural: String,
    /// The plural with its group.
    resource: String,
}

impl InformerMetrics {
    /// A list begins, streamed or in pages: the `initial` one, after the history `expired`, after a
    /// failure, …
    pub fn listing(&self, reason: &'static str) {
        let labels = &[&*self.kind.resource, reason];
        self.families.lists.with_label_values(labels).inc();
    }

    /// A list that was to be streamed is read in pages: streaming is `unsupported`, was `late`, …
    pub fn fell_back(&self, reason: &'static str) {
        let labels = &[&*self.kind.resource, reason];
        self.families.fallbacks.with_label_values(labels).inc();
    }

    /// A watch is opened: after the collection was `listed`, after the last one was `closed` by the
    /// server, found `broken` or `silent`, …
    pub fn watching(&self, reason: &'static str) {
        let labels = &[&*self.kind.resource, reason];
        self.families.watches.with_label_values(labels).inc();
    }

    /// Notes that a watch was opened just now.
    pub fn opened(&self) {
        self.last_watch.set(now());
    }

    /// For one informer, to note when it last heard its server.
    pub fn last_heard(&self) -> LastHeard {
        let heard = &self.families.heard;
        heard.of(&self.kind.resource, &self.last_event)
    }

    /// Notes how long an informer took from its start until its listeners knew the first list.
    pub fn synced(&self, after: Duration) {
        self.sync_time.set(after.as_secs_f64());
    }

    /// Notes the version that the store of an informer has reached: its last 15 digits, which a
    /// floating-point number holds exactly, as client-go has it. A version that is no number is left out.
    pub fn reached(&self, resource_version: &str) {
        let start = resource_version.len().saturating_sub(15);
        let digits = resource_version.get(start..).map(str::parse);
        if let Some(Ok(version)) = digits {
            self.store_version.set(version);
        }
    }

    /// The series of a listener; `name` comes from the program, so that there are few.
    pub fn listener(&self, name: &str) -> ListenerMetrics {
        self.families.listeners.of(&self.kind.resource, name)
    }

    /// What an informer adds to the size of the objects of its kind, which only those know that can write them.
    pub fn object_bytes(&self) -> Share {
        let family = &self.families.object_bytes;
        Share::of(&family.with_label_values(&[&*self.kind.resource]))
    }

    /// The same series, which are there until the last [`Use`] of their kind is dropped. Without any they
    /// stay.
    pub fn in_use(&self) -> (Self, Use) {
        let (families, kind) = (self.families.clone(), self.kind.clone());
        let end = move || families.remove(&kind);
        let make = || self.families.with_kind(self.kind.clone());
        let uses = &self.families.uses;
        uses.begin(&[&*self.kind.resource], make, end)
    }
}

fn now() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map(|since| since.as_secs_f64()).unwrap_or_default()
}

#[derive(Clone, Debug)]
pub(super) struct InformerFamilies {
    objects: IntGaugeVec,
    object_bytes: IntGaugeVec,
    undecodable: IntGaugeVec,
    queued: IntGaugeVec,
    processing: HistogramVec,
    store_version: IntGaugeVec,
    open_watches: IntGaugeVec,
    waiting_lists: IntGaugeVec,
    lists: IntCounterVec,
    list_seconds: HistogramVec,
    watch_events: IntCounterVec,
    fallbacks: IntCounterVec,
    watches: IntCounterVec,
    errors: IntCounterVec,
    decode_errors: IntCounterVec,
    misfits: IntCounterVec,
    index_errors: IntCounterVec,
    transform_errors: IntCounterVec,
    listener_panics: IntCounterVec,
    last_event: GaugeVec,
    last_watch: GaugeVec,
    sync_time: GaugeVec,
    listeners: ListenerFamilies,
    uses: Uses,
    heard: Heard,
}

impl InformerFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        const RESOURCE: &[&str] = &["resource"];
        const CLIENT_GO: &[&str] = &["name", "group", "version", "resource"];
        let counter = |name, help| metrics::counter(registry, name, help, RESOURCE);
        let reasons = |name, help| metrics::counter(registry, name, help, &["resource", "reason"]);
        let gauge = |name, help| metrics::int_gauge(registry, name, help, RESOURCE);
        let time = |name, help| metrics::gauge(registry, name, help, RESOURCE);
        Self {
            objects: gauge(
                "pilothouse_informer_objects",
                "Objects held by the informers of a kind",
            ),
            object_bytes: gauge(
                "pilothouse_informer_object_bytes",
                "Size of the objects held: as JSON, or as they are packed; of more than 200 in an informer, 200 are measured",
            ),
            undecodable: gauge(
                "pilothouse_informer_undecodable_objects",
                "Objects held by the informers of a kind that do not decode",
            ),
            queued: metrics::int_gauge(
                registry,
                "informer_queued_items",
                "Changes that were read and have not reached the store yet",
                CLIENT_GO,
            ),
            processing: metrics::histogram(
                registry,
                "informer_processing_latency_seconds",
                "Time taken to bring a batch of changes to the store and the listeners",
                CLIENT_GO,
                buckets::informer_seconds(),
            ),
            store_version: metrics::int_gauge(
                registry,
                "informer_store_resource_version",
                "Resource version that the store has reached, its last 15 digits",
                CLIENT_GO,
            ),
            open_watches: gauge(
                "pilothouse_informer_open_watches",
                "Watches that the informers of a kind have open",
            ),
            waiting_lists: gauge(
                "pilothouse_informer_waiting_lists",
                "Reads of a whole collection that wait for others to end",
            ),
            lists: reasons(
                "pilothouse_informer_lists_total",
                "Lists begun by the informers of a kind, by what made them necessary",
            ),
            list_seconds: metrics::histogram(
                registry,
                "pilothouse_informer_list_duration_seconds",
                "Time from a list's first request to its end, of lists that did not fail",
                RESOURCE,
                buckets::request_seconds(),
            ),
            watch_events: metrics::counter(
                registry,
                "pilothouse_informer_watch_events_total",
                "Events that the watches of a kind brought, by their type",
                &["resource", "type"],
            ),
            fallbacks: reasons(
                "pilothouse_informer_list_fallbacks_total",
                "Lists that could not be streamed and were read in pages, by what was in the way",
            ),
            watches: reasons(
                "pilothouse_informer_watches_total",
                "Watches opened by the informers of a kind, by what made them necessary",
            ),
            errors: counter(
                "pilothouse_informer_errors_total",
                "Lists and watches that failed",
            ),
            decode_errors: counter(
                "pilothouse_informer_decode_errors_total",
                "Versions of objects that did not decode",
            ),
            misfits: counter(
                "pilothouse_informer_misfits_total",
                "Events dropped because their object is none of the kind or has no name",
            ),
            index_errors: counter(
                "pilothouse_informer_index_errors_total",
                "Objects that an index function failed for",
            ),
            transform_errors: counter(
                "pilothouse_informer_transform_errors_total",
                "Objects that a transform failed for",
            ),
            listener_panics: counter(
                "pilothouse_informer_listener_panics_total",
                "Panics of listeners and index functions",
            ),
            last_event: time(
                "pilothouse_informer_last_event_timestamp_seconds",
                "When the server was last heard by the informer that has heard nothing for longest, in seconds since 1970",
            ),
            last_watch: time(
                "pilothouse_informer_last_watch_timestamp_seconds",
                "When a watch was last opened, in seconds since 1970",
            ),
            sync_time: time(
                "pilothouse_informer_sync_duration_seconds",
                "Time from the start of the informer that synced last until it had",
            ),
            listeners: ListenerFamilies::register(registry),
            uses: Uses::default(),
            heard: Heard::default(),
        }
    }

    pub(super) fn of(&self, group: &str, version: &str, plural: &str) -> InformerMetrics {
        let resource = match group {
            "" => plural.to_owned(),
            group => format!("{plural}.{group}"),
        };
        self.with_kind(Arc::new(Kind {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            resource,
        }))
    }

    fn with_kind(&self, kind: Arc<Kind>) -> InformerMetrics {
        let label = &[&*kind.resource];
        let client_go = &["", &*kind.group, &*kind.version, &*kind.plural];
        // At zero from the start, as every series that is always met.
        self.lists.with_label_values(&[label[0], "initial"]);
        self.watches.with_label_values(&[label[0], "listed"]);
        let event = |kind| self.watch_events.with_label_values(&[label[0], kind]);
        InformerMetrics {
            list_seconds: self.list_seconds.with_label_values(label),
            watch_events: WatchEventMetrics {
                added: event("added"),
                modified: event("modified"),
                deleted: event("deleted"),
                bookmark: event("bookmark"),
            },
            objects: self.objects.with_label_values(label),
            undecodable: self.undecodable.with_label_values(label),
            queued: self.queued.with_label_values(client_go),
            processing: self.processing.with_label_values(client_go),
            store_version: self.store_version.with_label_values(client_go),
            open_watches: self.open_watches.with_label_values(label),
            waiting_lists: self.waiting_lists.with_label_values(label),
            errors: self.errors.with_label_values(label),
            decode_errors: self.decode_errors.with_label_values(label),
            misfits: self.misfits.with_label_values(label),
            index_errors: self.index_errors.with_label_values(label),
            transform_errors: self.transform_errors.with_label_values(label),
            listener_panics: self.listener_panics.with_label_values(label),
            last_event: self.last_event.with_label_values(label),
            last_watch: self.last_watch.with_label_values(label),
            sync_time: self.sync_time.with_label_values(label),
            families: self.clone(),
            kind,
        }
    }

    /// Ends all series of a kind but those of its listeners, which end with them. Versions of a kind share
    /// theirs.
    fn remove(&self, kind: &Kind) {
        let own = [("resource", &*kind.resource)];
        let client_go = [("group", &*kind.group), ("resource", &*kind.plural)];
        for family in [&self.queued, &self.store_version] {
            remove(family, &client_go);
        }
        remove(&self.processing, &client_go);
        remove(&self.list_seconds, &own);
        for family in [
            &self.objects,
            &self.object_bytes,
            &self.undecodable,
            &self.open_watches,
            &self.waiting_lists,
        ] {
            remove(family, &own);
        }
        for family in [
            &self.lists,
            &self.watch_events,
            &self.fallbacks,
            &self.watches,
            &self.errors,
            &self.decode_errors,
            &self.misfits,
            &self.index_errors,
            &self.transform_errors,
            &self.listener_panics,
        ] {
            remove(family, &own);
        }
        for family in [&self.last_event, &self.last_watch, &self.sync_time] {
            remove(family, &own);
        }
    }
}
