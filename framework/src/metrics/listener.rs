use std::sync::Arc;

use prometheus::{
    Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry,
};

use super::{SeriesUse, buckets, families, series_use::SeriesUses};

/// The series of one listener of a kind's informers, with the labels `resource` and `listener`.
/// Clones share the series.
#[derive(Clone, Debug)]
pub struct ListenerMetrics {
    /// Events that wait for the listener.
    pub backlog: IntGauge,
    /// Events that a newer event of the same object replaced before the listener received them.
    pub coalesced: IntCounter,
    /// Seconds that the listener takes for one batch of events.
    pub duration: Histogram,
    /// The series are removed with the last listener of the name.
    _use: Arc<SeriesUse>,
}

#[derive(Clone, Debug)]
pub(super) struct ListenerFamilies {
    backlog: IntGaugeVec,
    coalesced: IntCounterVec,
    duration: HistogramVec,
    uses: SeriesUses,
}

impl ListenerFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        const LABELS: &[&str] = &["resource", "listener"];
        Self {
            backlog: families::int_gauge(
                registry,
                "pilothouse_informer_listener_backlog",
                "Events that wait for a listener.",
                LABELS,
            ),
            coalesced: families::counter(
                registry,
                "pilothouse_informer_listener_coalesced_total",
                "Events that a newer event of the same object replaced before the listener received them.",
                LABELS,
            ),
            duration: families::histogram(
                registry,
                "pilothouse_informer_listener_duration_seconds",
                "Seconds that a listener took for one batch of events.",
                LABELS,
                buckets::informer_seconds(),
            ),
            uses: SeriesUses::default(),
        }
    }

    pub(super) fn of(&self, resource: &str, listener: &str) -> ListenerMetrics {
        let labels = &[resource, listener];
        let (families, names) = (self.clone(), labels.map(str::to_owned));
        let make = || {
            (
                self.backlog.with_label_values(labels),
                self.coalesced.with_label_values(labels),
                self.duration.with_label_values(labels),
            )
        };
        let end = move || families.remove(&names);
        let ((backlog, coalesced, duration), one) = self.uses.begin(labels, make, end);
        ListenerMetrics {
            backlog,
            coalesced,
            duration,
            _use: Arc::new(one),
        }
    }

    fn remove(&self, labels: &[String; 2]) {
        // Removing a series that does not exist any more fails, which is fine.
        _ = self.backlog.remove_label_values(labels);
        _ = self.coalesced.remove_label_values(labels);
        _ = self.duration.remove_label_values(labels);
    }
}
