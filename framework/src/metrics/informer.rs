use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::{Gauge, GaugeVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry};

use super::metrics;

/// What the informers of one kind do; the series bear it in the label `resource`.
///
/// Informers of one kind with different scopes share the series: they add to
/// [`objects`](Self::objects) and subtract from it, and never set it. Cloning shares the series.
#[derive(Clone, Debug)]
pub struct InformerMetrics {
    /// Objects held now.
    pub objects: IntGauge,
    /// Lists and watches that failed.
    pub errors: IntCounter,
    /// Versions of objects that did not decode.
    pub decode_errors: IntCounter,
    /// Listeners and index functions that panicked.
    pub listener_panics: IntCounter,
    lists: IntCounterVec,
    watches: IntCounterVec,
    resource: String,
    last_event: Gauge,
}

impl InformerMetrics {
    /// A list begins: the `initial` one, after the history `expired`, after a failure, …
    pub fn listing(&self, reason: &'static str) {
        let labels = &[&*self.resource, reason];
        self.lists.with_label_values(labels).inc();
    }

    /// A watch is opened: after the collection was `listed`, after the last one was `closed` by the
    /// server, found `broken` or `silent`, …
    pub fn watching(&self, reason: &'static str) {
        let labels = &[&*self.resource, reason];
        self.watches.with_label_values(labels).inc();
    }

    /// Notes that the server was heard just now: an event, a bookmark or a list.
    pub fn heard(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.last_event
            .set(now.map(|since| since.as_secs_f64()).unwrap_or_default());
    }
}

#[derive(Debug)]
pub(super) struct InformerFamilies {
    objects: IntGaugeVec,
    lists: IntCounterVec,
    watches: IntCounterVec,
    errors: IntCounterVec,
    decode_errors: IntCounterVec,
    listener_panics: IntCounterVec,
    last_event: GaugeVec,
}

impl InformerFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        let counter = |name, help| metrics::counter(registry, name, help, &["resource"]);
        let reasons = |name, help| metrics::counter(registry, name, help, &["resource", "reason"]);
        Self {
            objects: metrics::int_gauge(
                registry,
                "pilothouse_informer_objects",
                "Objects held by the informers of a kind",
                &["resource"],
            ),
            lists: reasons(
                "pilothouse_informer_lists_total",
                "Lists begun by the informers of a kind, by what made them necessary",
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
            listener_panics: counter(
                "pilothouse_informer_listener_panics_total",
                "Panics of listeners and index functions",
            ),
            last_event: metrics::gauge(
                registry,
                "pilothouse_informer_last_event_timestamp_seconds",
                "When the server was last heard, in seconds since 1970",
                &["resource"],
            ),
        }
    }

    pub(super) fn of(&self, resource: &str) -> InformerMetrics {
        let label = &[resource];
        // At zero from the start, as every series that is always met.
        self.lists.with_label_values(&[resource, "initial"]);
        self.watches.with_label_values(&[resource, "listed"]);
        InformerMetrics {
            objects: self.objects.with_label_values(label),
            lists: self.lists.clone(),
            watches: self.watches.clone(),
            resource: resource.to_owned(),
            errors: self.errors.with_label_values(label),
            decode_errors: self.decode_errors.with_label_values(label),
            listener_panics: self.listener_panics.with_label_values(label),
            last_event: self.last_event.with_label_values(label),
        }
    }
}
