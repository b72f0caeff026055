use prometheus::{IntCounter, IntCounterVec, IntGauge, Registry};

use super::metrics;

/// What becomes of the Events that an operator records. Cloning shares the series.
#[derive(Clone, Debug)]
pub struct EventMetrics {
    /// Events recorded of type `Normal`.
    pub normal: IntCounter,
    /// Events recorded of type `Warning`.
    pub warning: IntCounter,
    /// Events created on the server.
    pub created: IntCounter,
    /// Events on the server that were told what has happened since.
    pub patched: IntCounter,
    /// Not recorded: too many different ones about one object.
    pub spam: IntCounter,
    /// Not recorded: as many wait to be sent as are kept.
    pub full: IntCounter,
    /// Not sent: the server does not want them.
    pub refused: IntCounter,
    /// Not sent: tried for as long as is worth it.
    pub failed: IntCounter,
    /// Not sent: their namespace is being deleted.
    pub namespace: IntCounter,
    /// Not sent before the recorder was stopped, or recorded afterwards.
    pub stopped: IntCounter,
    /// Writes that failed and are tried again.
    pub retries: IntCounter,
    /// Series that are remembered, to tell whether an event is one more of the same.
    pub series: IntGauge,
}

impl EventMetrics {
    pub(super) fn register(registry: &Registry) -> Self {
        let recorded = metrics::counter(
            registry,
            "pilothouse_events_recorded_total",
            "Events recorded",
            &["type"],
        );
        let sent = metrics::counter(
            registry,
            "pilothouse_events_sent_total",
            "Events written to the API server",
            &["verb"],
        );
        let dropped = metrics::counter(
            registry,
            "pilothouse_events_dropped_total",
            "Events recorded that never came to the API server, or came incompletely",
            &["reason"],
        );
        let of = |family: &IntCounterVec, value| family.with_label_values(&[value]);
        let retries = metrics::counter(
            registry,
            "pilothouse_events_retries_total",
            "Writes of Events that failed and are tried again",
            &[],
        );
        let series = metrics::int_gauge(
            registry,
            "pilothouse_events_series",
            "Events that are remembered to tell whether another is one more of the same",
            &[],
        );
        const NONE: &[&str] = &[];
        Self {
            normal: of(&recorded, "Normal"),
            warning: of(&recorded, "Warning"),
            created: of(&sent, "create"),
            patched: of(&sent, "patch"),
            spam: of(&dropped, "spam"),
            full: of(&dropped, "full"),
            refused: of(&dropped, "refused"),
            failed: of(&dropped, "failed"),
            namespace: of(&dropped, "namespace"),
            stopped: of(&dropped, "stopped"),
            retries: retries.with_label_values(NONE),
            series: series.with_label_values(NONE),
        }
    }
}
