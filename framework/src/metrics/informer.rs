use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
    Registry,
};

use super::{
    GaugeShare, LastEvent, ListenerMetrics, SeriesUse, buckets, families,
    last_event::LastEvents,
    listener::ListenerFamilies,
    series_use::{SeriesUses, remove},
};

/// The series of the informers of one kind.
///
/// The series of client-go (`informer_…`) have the labels `group`, `version`, `resource` and `name`.
/// `name` is empty, as for an informer factory without a name. The other series
/// (`pilothouse_informer_…`) have the label `resource`: the plural with its group, as RBAC writes it
/// (`deployments.apps`).
///
/// Informers of one kind with different scopes share the series. So an informer never sets a gauge; it
/// adds its `GaugeShare` to it. Clones share the series.
#[derive(Clone, Debug)]
pub struct InformerMetrics {
    /// Objects that the informers hold now.
    pub objects: IntGauge,
    /// Objects that the informers hold now and cannot decode.
    pub undecodable: IntGauge,
    /// Changes that were received and have not reached the store yet (client-go's
    /// `informer_queued_items`).
    pub queued: IntGauge,
    /// Seconds that passing a batch of deltas to the store and its listeners takes (client-go's
    /// `informer_processing_latency_seconds`).
    pub processing: Histogram,
    /// Seconds of a list, streamed or in pages, from its first request to its end. Failed lists do not
    /// count.
    pub list_seconds: Histogram,
    /// Events that the watches received.
    pub watch_events: WatchEventMetrics,
    /// Watches that are open.
    pub open_watches: IntGauge,
    /// Lists that wait for other lists to end.
    pub waiting_lists: IntGauge,
    /// Lists and watches that failed.
    pub errors: IntCounter,
    /// Versions of objects that could not be decoded.
    pub decode_errors: IntCounter,
    /// Events that were dropped because their object has another kind or no name.
    pub misfits: IntCounter,
    /// Objects for which an index function failed.
    pub index_errors: IntCounter,
    /// Objects for which a transform failed.
    pub transform_errors: IntCounter,
    /// Panics of listeners and index functions.
    pub listener_panics: IntCounter,
    last_event: Gauge,
    last_watch: Gauge,
    sync_time: Gauge,
    store_version: IntGauge,
    families: InformerFamilies,
    kind: Arc<Kind>,
}

/// The number of events that the watches of a kind received. The initial events of a streamed list do
/// not count here: they belong to the list.
#[derive(Clone, Debug)]
pub struct WatchEventMetrics {
    /// Objects that are new, or that match the selectors now.
    pub added: IntCounter,
    /// Objects that changed.
    pub modified: IntCounter,
    /// Objects that were deleted, or that no longer match the selectors.
    pub deleted: IntCounter,
    /// Bookmarks: a new resource version without a change.
    pub bookmark: IntCounter,
}

#[derive(Debug)]
struct Kind {
    group: String,
    version: String,
    plural: String,
    /// The plural with its group, such as `deployments.apps`.
    resource: String,
}

impl InformerMetrics {
    /// Counts the start of a list, streamed or in pages. `reason` is why it is needed: `initial`,
    /// `expired` (the server's history has expired), …
    pub fn listing(&self, reason: &'static str) {
        let labels = &[&*self.kind.resource, reason];
        self.families.lists.with_label_values(labels).inc();
    }

    /// Counts a list that is read in pages instead of streamed. `reason` is why: `unsupported`, `late`, …
    pub fn fell_back(&self, reason: &'static str) {
        let labels = &[&*self.kind.resource, reason];
        self.families.fallbacks.with_label_values(labels).inc();
    }

    /// Counts the opening of a watch. `reason` is why it is opened: `listed` (after a list), `closed`
    /// (the server closed the last watch), `broken`, `silent`, …
    pub fn watching(&self, reason: &'static str) {
        let labels = &[&*self.kind.resource, reason];
        self.families.watches.with_label_values(labels).inc();
    }

    /// Records that a watch was opened now.
    pub fn opened(&self) {
        self.last_watch.set(now());
    }

    /// Starts to record for one informer when it last received something from the API server.
    pub(crate) fn last_event(&self) -> LastEvent {
        let last_events = &self.families.last_events;
        last_events.of(&self.kind.resource, &self.last_event)
    }

    /// Records the time from an informer's start until its listeners have received the first list.
    pub fn synced(&self, after: Duration) {
        self.sync_time.set(after.as_secs_f64());
    }

    /// Records the resource version that an informer's store has reached: the last 15 digits, as in
    /// client-go, because a floating-point number holds them exactly. A version that is not a number is
    /// ignored.
    pub fn reached(&self, resource_version: &str) {
        let start = resource_version.len().saturating_sub(15);
        let digits = resource_version.get(start..).map(str::parse);
        if let Some(Ok(version)) = digits {
            self.store_version.set(version);
        }
    }

    /// The series of the listener `name`. The names come from the program, so there are only a few.
    pub fn listener(&self, name: &str) -> ListenerMetrics {
        self.families.listeners.of(&self.kind.resource, name)
    }

    /// One informer's share of the size of all held objects. Only kinds that can be encoded record it.
    pub(crate) fn object_bytes(&self) -> GaugeShare {
        let family = &self.families.object_bytes;
        GaugeShare::of(&family.with_label_values(&[&*self.kind.resource]))
    }

    /// The same series, which exist until the last `SeriesUse` of their kind is dropped. Series without
    /// any use are not removed.
    pub(crate) fn in_use(&self) -> (Self, SeriesUse) {
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
    uses: SeriesUses,
    last_events: LastEvents,
}

impl InformerFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        const RESOURCE: &[&str] = &["resource"];
        const CLIENT_GO: &[&str] = &["name", "group", "version", "resource"];
        let counter = |name, help| families::counter(registry, name, help, RESOURCE);
        let reasons = |name, help| families::counter(registry, name, help, &["resource", "reason"]);
        let gauge = |name, help| families::int_gauge(registry, name, help, RESOURCE);
        let time = |name, help| families::gauge(registry, name, help, RESOURCE);
        Self {
            objects: gauge(
                "pilothouse_informer_objects",
                "Objects that the informers of a kind hold.",
            ),
            object_bytes: gauge(
                "pilothouse_informer_object_bytes",
                "Bytes of the objects that the informers of a kind hold, as JSON or packed. An informer with more than 200 objects measures 200 of them.",
            ),
            undecodable: gauge(
                "pilothouse_informer_undecodable_objects",
                "Objects that the informers of a kind hold and cannot decode.",
            ),
            queued: families::int_gauge(
                registry,
                "informer_queued_items",
                "Changes that were received and have not reached the store yet.",
                CLIENT_GO,
            ),
            processing: families::histogram(
                registry,
                "informer_processing_latency_seconds",
                "Seconds that passing a batch of changes to the store and the listeners took.",
                CLIENT_GO,
                buckets::informer_seconds(),
            ),
            store_version: families::int_gauge(
                registry,
                "informer_store_resource_version",
                "The last 15 digits of the resource version that the store has reached.",
                CLIENT_GO,
            ),
            open_watches: gauge(
                "pilothouse_informer_open_watches",
                "Open watches of the informers of a kind.",
            ),
            waiting_lists: gauge(
                "pilothouse_informer_waiting_lists",
                "Lists that wait for other lists to end.",
            ),
            lists: reasons(
                "pilothouse_informer_lists_total",
                "Lists that the informers of a kind started, by reason.",
            ),
            list_seconds: families::histogram(
                registry,
                "pilothouse_informer_list_duration_seconds",
                "Seconds from the first request of a list to its end. Failed lists are not counted.",
                RESOURCE,
                buckets::request_seconds(),
            ),
            watch_events: families::counter(
                registry,
                "pilothouse_informer_watch_events_total",
                "Events that the watches of a kind received, by type.",
                &["resource", "type"],
            ),
            fallbacks: reasons(
                "pilothouse_informer_list_fallbacks_total",
                "Lists that could not be streamed and were read in pages, by reason.",
            ),
            watches: reasons(
                "pilothouse_informer_watches_total",
                "Watches that the informers of a kind opened, by reason.",
            ),
            errors: counter(
                "pilothouse_informer_errors_total",
                "Lists and watches that failed.",
            ),
            decode_errors: counter(
                "pilothouse_informer_decode_errors_total",
                "Versions of objects that could not be decoded.",
            ),
            misfits: counter(
                "pilothouse_informer_misfits_total",
                "Events that were dropped because their object has another kind or no name.",
            ),
            index_errors: counter(
                "pilothouse_informer_index_errors_total",
                "Objects for which an index function failed.",
            ),
            transform_errors: counter(
                "pilothouse_informer_transform_errors_total",
                "Objects for which a transform failed.",
            ),
            listener_panics: counter(
                "pilothouse_informer_listener_panics_total",
                "Panics of listeners and index functions.",
            ),
            last_event: time(
                "pilothouse_informer_last_event_timestamp_seconds",
                "When the informer with the longest silence last received something from the API server, in seconds since 1970.",
            ),
            last_watch: time(
                "pilothouse_informer_last_watch_timestamp_seconds",
                "When a watch was last opened, in seconds since 1970.",
            ),
            sync_time: time(
                "pilothouse_informer_sync_duration_seconds",
                "Seconds from the start of the informer that synced last until it had synced.",
            ),
            listeners: ListenerFamilies::register(registry),
            uses: SeriesUses::default(),
            last_events: LastEvents::default(),
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
        // Series that every informer uses start at zero.
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

    /// Removes all series of a kind except those of its listeners, which are removed with the listeners.
    /// All versions of a kind share the series.
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
