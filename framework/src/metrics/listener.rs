use prometheus::{
    Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry,
};

use super::{buckets, metrics};

/// What happens at one listener of a kind's informers; the series bear the labels `resource` and
/// `listener`. Cloning shares the series.
#[derive(Clone, Debug)]
pub struct ListenerMetrics {
    /// Events that wait for the listener.
    pub backlog: IntGauge,
    /// Events that a newer one of the same object took the place of before they were told.
    pub coalesced: IntCounter,
    /// Time the listener takes for what it is told at once.
    pub duration: Histogram,
}

#[derive(Clone, Debug)]
pub(super) struct ListenerFamilies {
    backlog: IntGaugeVec,
    coalesced: IntCounterVec,
    duration: HistogramVec,
}

impl ListenerFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        const LABELS: &[&str] = &["resource", "listener"];
        Self {
            backlog: metrics::int_gauge(
                registry,
                "pilothouse_informer_listener_backlog",
                "Events that wait for a listener",
                LABELS,
            ),
            coalesced: metrics::counter(
                registry,
                "pilothouse_informer_listener_coalesced_total",
                "Events that a newer one of the same object took the place of",
                LABELS,
            ),
            duration: metrics::histogram(
                registry,
                "pilothouse_informer_listener_duration_seconds",
                "Time a listener takes for what it is told at once",
                LABELS,
                buckets::informer_seconds(),
            ),
        }
    }

    pub(super) fn of(&self, resource: &str, listener: &str) -> ListenerMetrics {
        let labels = &[resource, listener];
        ListenerMetrics {
            backlog: self.backlog.with_label_values(labels),
            coalesced: self.coalesced.with_label_values(labels),
            duration: self.duration.with_label_values(labels),
        }
    }
}
