use prometheus::{IntCounter, IntCounterVec, IntGauge, Registry};

use super::families;

/// The series of the Events that an operator records. Clones share the series.
#[derive(Clone, Debug)]
pub(crate) struct EventMetrics {
    /// Recorded Events of type `Normal`.
    pub normal: IntCounter,
    /// Recorded Events of type `Warning`.
    pub warning: IntCounter,
    /// Events that were created on the API server.
    pub created: IntCounter,
    /// Patches that added a new count to an Event on the API server.
    pub patched: IntCounter,
    /// Dropped when recorded: too many different Events about one object.
    pub spam: IntCounter,
    /// Dropped when recorded: the buffer of unsent Events was full.
    pub full: IntCounter,
    /// Dropped: the API server refused the Event.
    pub refused: IntCounter,
    /// Dropped: all attempts to send the Event failed.
    pub failed: IntCounter,
    /// Dropped: the Event's namespace is being deleted.
    pub namespace: IntCounter,
    /// Dropped: the recorder stopped before it could send the Event.
    pub stopped: IntCounter,
    /// Failed writes that are retried.
    pub retries: IntCounter,
    /// Series that the recorder remembers, to recognise a repeated Event.
    pub series: IntGauge,
}

impl EventMetrics {
    pub(super) fn register(registry: &Registry) -> Self {
        let recorded = families::counter(
            registry,
            "pilothouse_events_recorded_total",
            "Events that were recorded, by type.",
            &["type"],
        );
        let sent = families::counter(
            registry,
            "pilothouse_events_sent_total",
            "Writes of Events to the API server, by verb.",
            &["verb"],
        );
        let dropped = families::counter(
            registry,
            "pilothouse_events_dropped_total",
            "Recorded Events that did not reach the API server, or not with their last count, by reason.",
            &["reason"],
        );
        let of = |family: &IntCounterVec, value| family.with_label_values(&[value]);
        let retries = families::counter(
            registry,
            "pilothouse_events_retries_total",
            "Writes of Events that failed and are retried.",
            &[],
        );
        let series = families::int_gauge(
            registry,
            "pilothouse_events_series",
            "Event series that the recorder remembers, to recognise a repeated Event.",
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
