use prometheus::{Gauge, GaugeVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry};

use super::{Histogram, RequeueMetrics, buckets, histogram::HistogramFamily, metrics};

/// What one controller does; the series bear its name in the label `controller`.
///
/// Cloning shares the series.
#[derive(Clone, Debug)]
pub struct ControllerMetrics {
    /// Reconciles that ended well and asked for nothing.
    pub success: IntCounter,
    /// Reconciles that ended well and asked to run again after a while.
    pub requeue_after: IntCounter,
    /// Reconciles that ended well and asked to run again with backoff.
    pub requeue: IntCounter,
    /// Reconciles that failed; also counted in [`errors`](Self::errors).
    pub error: IntCounter,
    /// Reconciles that failed, terminal failures included.
    pub errors: IntCounter,
    /// Reconciles that failed and are not retried.
    pub terminal_errors: IntCounter,
    /// Reconciles that panicked.
    pub panics: IntCounter,
    /// Reconciles that were given up because they took too long.
    pub timeouts: IntCounter,
    /// Seconds of each reconcile.
    pub seconds: Histogram,
    /// How many reconciles may run at once.
    pub max_concurrent: Gauge,
    /// How many reconciles run now.
    pub active_workers: Gauge,
    /// Reconciles that lead to another one of their own accord, by reason.
    pub requeues: RequeueMetrics,
    /// Seconds from a change that the cache saw to the reconcile that it led to.
    pub event_seconds: Histogram,
    /// Objects that are paused by annotation.
    pub paused: IntGauge,
    /// Predicates, mappings and sources that panicked.
    pub handler_panics: IntCounter,
    /// Writes through a `Context` that went to the API server.
    pub writes_sent: IntCounter,
    /// Writes through a `Context` that were not needed and not sent.
    pub writes_skipped: IntCounter,
    /// Events that were only the echo of a status this controller had written itself.
    pub status_echoes: IntCounter,
}

#[derive(Debug)]
pub(super) struct ControllerFamilies {
    reconciles: IntCounterVec,
    errors: IntCounterVec,
    terminal_errors: IntCounterVec,
    panics: IntCounterVec,
    timeouts: IntCounterVec,
    seconds: HistogramFamily,
    max_concurrent: GaugeVec,
    active_workers: GaugeVec,
    requeues: IntCounterVec,
    event_seconds: HistogramFamily,
    paused: IntGaugeVec,
    handler_panics: IntCounterVec,
    writes: IntCounterVec,
    status_echoes: IntCounterVec,
}

impl ControllerFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        let controller = &["controller"];
        Self {
            reconciles: metrics::counter(
                registry,
                "controller_runtime_reconcile_total",
                "Total number of reconciliations per controller",
                &["controller", "result"],
            ),
            errors: metrics::counter(
                registry,
                "controller_runtime_reconcile_errors_total",
                "Total number of reconciliation errors per controller",
                controller,
            ),
            terminal_errors: metrics::counter(
                registry,
                "controller_runtime_terminal_reconcile_errors_total",
                "Total number of terminal reconciliation errors per controller",
                controller,
            ),
            panics: metrics::counter(
                registry,
                "controller_runtime_reconcile_panics_total",
                "Total number of reconciliation panics per controller",
                controller,
            ),
            timeouts: metrics::counter(
                registry,
                "controller_runtime_reconcile_timeouts_total",
                "Total number of reconciliation timeouts per controller",
                controller,
            ),
            seconds: metrics::striped(
                registry,
                "controller_runtime_reconcile_time_seconds",
                "Length of time per reconciliation per controller",
                controller,
                buckets::reconcile_seconds(),
            ),
            max_concurrent: metrics::gauge(
                registry,
                "controller_runtime_max_concurrent_reconciles",
                "Maximum number of concurrent reconciles per controller",
                controller,
            ),
            active_workers: metrics::gauge(
                registry,
                "controller_runtime_active_workers",
                "Number of currently used workers per controller",
                controller,
            ),
            requeues: metrics::counter(
                registry,
                "pilothouse_controller_requeues_total",
                "Reconciles that led to another one of their own accord, by reason",
                &["controller", "reason"],
            ),
            event_seconds: metrics::striped(
                registry,
                "pilothouse_controller_event_to_reconcile_seconds",
                "Time from a change seen by the cache to the start of the reconcile it led to",
                controller,
                buckets::lag_seconds(),
            ),
            paused: metrics::int_gauge(
                registry,
                "pilothouse_controller_paused_objects",
                "Objects that bear the annotation pilothouse.dev/paused",
                controller,
            ),
            handler_panics: metrics::counter(
                registry,
                "pilothouse_controller_handler_panics_total",
                "Panics of predicates, mappings and sources per controller",
                controller,
            ),
            writes: metrics::counter(
                registry,
                "pilothouse_controller_writes_total",
                "Writes asked for by reconciles, by whether a request was sent or not needed",
                &["controller", "result"],
            ),
            status_echoes: metrics::counter(
                registry,
                "pilothouse_controller_status_echoes_total",
                "Events that only echoed a status written by the controller itself",
                controller,
            ),
        }
    }

    pub(super) fn of(&self, name: &str) -> ControllerMetrics {
        let reconciles = |result| self.reconciles.with_label_values(&[name, result]);
        let label = &[name];
        ControllerMetrics {
            success: reconciles("success"),
            requeue_after: reconciles("requeue_after"),
            requeue: reconciles("requeue"),
            error: reconciles("error"),
            errors: self.errors.with_label_values(label),
            terminal_errors: self.terminal_errors.with_label_values(label),
            panics: self.panics.with_label_values(label),
            timeouts: self.timeouts.with_label_values(label),
            seconds: self.seconds.with_label_values(label),
            max_concurrent: self.max_concurrent.with_label_values(label),
            active_workers: self.active_workers.with_label_values(label),
            requeues: RequeueMetrics::of(&self.requeues, name),
            event_seconds: self.event_seconds.with_label_values(label),
            paused: self.paused.with_label_values(label),
            handler_panics: self.handler_panics.with_label_values(label),
            writes_sent: self.writes.with_label_values(&[name, "sent"]),
            writes_skipped: self.writes.with_label_values(&[name, "skipped"]),
            status_echoes: self.status_echoes.with_label_values(label),
        }
    }
}
