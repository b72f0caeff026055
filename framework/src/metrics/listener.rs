use std::sync::Arc;

use prometheus::{
    Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry,
};

use super::{Use, buckets, metrics, uses::Uses};

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
    /// The series end with the last listener of the name.
    _use: Arc<Use>,
}

#[derive(Clone, Debug)]
pub(super) struct ListenerFamilies {
    backlog: IntGaugeVec,
    coalesced: IntCounterVec,
    duration: HistogramVec,
    uses: Uses,
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
            uses: Uses::default(),
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
        // Gone already is as good.
        _ = self.backlog.remove_label_values(labels);
        _ = self.coalesced.remove_label_values(labels);
        _ = self.duration.remove_label_values(labels);
    }
}
