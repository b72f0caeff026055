use prometheus::{Gauge, GaugeVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry};

use super::{Histogram, buckets, families, histogram::HistogramFamily};

/// The series of one controller. The label `controller` holds its name.
///
/// Clones share the series.
#[derive(Clone, Debug)]
pub(crate) struct ControllerMetrics {
    /// Reconciles that succeeded without a requeue.
    pub success: IntCounter,
    /// Reconciles that succeeded and asked to run again after a delay.
    pub requeue_after: IntCounter,
    /// Reconciles that succeeded and asked to run again with backoff.
    pub requeue: IntCounter,
    /// Reconciles that failed. [`errors`](Self::errors) counts them too.
    pub error: IntCounter,
    /// Reconciles that failed, terminal failures included.
    pub errors: IntCounter,
    /// Reconciles that failed and are not retried.
    pub terminal_errors: IntCounter,
    /// Reconciles that panicked.
    pub panics: IntCounter,
    /// Reconciles that were cancelled because they took too long.
    pub timeouts: IntCounter,
    /// Duration of each reconcile in seconds.
    pub seconds: Histogram,
    /// The number of reconciles that may run at once.
    pub max_concurrent: Gauge,
    /// The longest time that a reconcile may take, in seconds. 0 without a limit.
    pub time_limit: Gauge,
    /// The number of reconciles that run now.
    pub active_workers: Gauge,
    /// Reconciles that cause another reconcile of the same object, by reason.
    pub requeues: RequeueMetrics,
    /// Seconds from a change that the cache received to the start of the reconcile that it caused.
    pub event_seconds: Histogram,
    /// Objects that an annotation pauses.
    pub paused: IntGauge,
    /// Panics of predicates, mappings and sources.
    pub handler_panics: IntCounter,
    /// Polls of something outside of the cluster that failed.
    pub poll_failures: IntCounter,
    /// Writes through a `Context` that were sent to the API server.
    pub writes_sent: IntCounter,
    /// Writes through a `Context` that were unnecessary and not sent.
    pub writes_skipped: IntCounter,
    /// Pauses of keys whose calls wrote too often.
    pub write_pauses: IntCounter,
    /// Events that only echoed a status that this controller had written.
    pub status_echoes: IntCounter,
    pub child_echoes: IntCounter,
}

/// Reconciles that caused another reconcile of the same object, by reason.
#[derive(Clone, Debug)]
pub(crate) struct RequeueMetrics {
    /// The reconcile asked to run again after a delay.
    pub after: IntCounter,
    /// The reconcile asked to run again with backoff.
    pub backoff: IntCounter,
    /// The controller's interval has passed.
    pub interval: IntCounter,
    /// The reconcile failed.
    pub error: IntCounter,
    /// The reconcile failed with a conflict: another client had changed an object that it wrote.
    pub conflict: IntCounter,
    /// The reconcile panicked.
    pub panic: IntCounter,
    /// The reconcile took too long.
    pub timeout: IntCounter,
    /// The object had a newer generation before the reconcile ended.
    pub outdated: IntCounter,
    /// The object was deleted during the reconcile.
    pub gone: IntCounter,
}

impl RequeueMetrics {
    pub(super) fn of(family: &IntCounterVec, controller: &str) -> Self {
        let of = |reason| family.with_label_values(&[controller, reason]);
        Self {
            after: of("requeue_after"),
            backoff: of("requeue"),
            interval: of("interval"),
            error: of("error"),
            conflict: of("conflict"),
            panic: of("panic"),
            timeout: of("timeout"),
            outdated: of("outdated"),
            gone: of("gone"),
        }
    }
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
    time_limit: GaugeVec,
    active_workers: GaugeVec,
    requeues: IntCounterVec,
    event_seconds: HistogramFamily,
    paused: IntGaugeVec,
    handler_panics: IntCounterVec,
    poll_failures: IntCounterVec,
    writes: IntCounterVec,
    write_pauses: IntCounterVec,
    status_echoes: IntCounterVec,
    child_echoes: IntCounterVec,
}

impl ControllerFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        let controller = &["controller"];
        Self {
            reconciles: families::counter(
                registry,
                "controller_runtime_reconcile_total",
                "Reconciles, by controller and result.",
                &["controller", "result"],
            ),
            errors: families::counter(
                registry,
                "controller_runtime_reconcile_errors_total",
                "Reconciles that failed, terminal failures included, by controller.",
                controller,
            ),
            terminal_errors: families::counter(
                registry,
                "controller_runtime_terminal_reconcile_errors_total",
                "Reconciles that failed and are not retried, by controller.",
                controller,
            ),
            panics: families::counter(
                registry,
                "controller_runtime_reconcile_panics_total",
                "Reconciles that panicked, by controller.",
                controller,
            ),
            timeouts: families::counter(
                registry,
                "controller_runtime_reconcile_timeouts_total",
                "Reconciles that were cancelled because they took too long, by controller.",
                controller,
            ),
            seconds: families::striped_histogram(
                registry,
                "controller_runtime_reconcile_time_seconds",
                "Seconds that a reconcile took, by controller.",
                controller,
                buckets::reconcile_seconds(),
            ),
            max_concurrent: families::gauge(
                registry,
                "controller_runtime_max_concurrent_reconciles",
                "The number of reconciles that may run at once, by controller.",
                controller,
            ),
            time_limit: families::gauge(
                registry,
                "pilothouse_controller_timeout_seconds",
                "The longest time that a reconcile may take, by controller; 0 without a limit.",
                controller,
            ),
            active_workers: families::gauge(
                registry,
                "controller_runtime_active_workers",
                "The number of reconciles that run now, by controller.",
                controller,
            ),
            requeues: families::counter(
                registry,
                "pilothouse_controller_requeues_total",
                "Reconciles that caused another reconcile of the same object, by reason.",
                &["controller", "reason"],
            ),
            event_seconds: families::striped_histogram(
                registry,
                "pilothouse_controller_event_to_reconcile_seconds",
                "Seconds from a change that the cache received to the start of the reconcile that it caused.",
                controller,
                buckets::lag_seconds(),
            ),
            paused: families::int_gauge(
                registry,
                "pilothouse_controller_paused_objects",
                "Objects with the annotation pilothouse.dev/paused.",
                controller,
            ),
            handler_panics: families::counter(
                registry,
                "pilothouse_controller_handler_panics_total",
                "Panics of predicates, mappings and sources, by controller.",
                controller,
            ),
            poll_failures: families::counter(
                registry,
                "pilothouse_controller_poll_failures_total",
                "Polls of something outside of the cluster that failed, panicked or took too long, by controller.",
                controller,
            ),
            writes: families::counter(
                registry,
                "pilothouse_controller_writes_total",
                "Writes that reconciles made: sent to the API server, or skipped because they were unnecessary.",
                &["controller", "result"],
            ),
            write_pauses: families::counter(
                registry,
                "pilothouse_controller_write_pauses_total",
                "Reconciles that were delayed because those before them wrote too often.",
                controller,
            ),
            status_echoes: families::counter(
                registry,
                "pilothouse_controller_status_echoes_total",
                "Events that only echoed a status that the controller itself had written.",
                controller,
            ),
            child_echoes: families::counter(
                registry,
                "pilothouse_controller_child_echoes_total",
                "Events that only echoed what the last reconcile of an object wrote to a child.",
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
            time_limit: self.time_limit.with_label_values(label),
            active_workers: self.active_workers.with_label_values(label),
            requeues: RequeueMetrics::of(&self.requeues, name),
            event_seconds: self.event_seconds.with_label_values(label),
            paused: self.paused.with_label_values(label),
            handler_panics: self.handler_panics.with_label_values(label),
            poll_failures: self.poll_failures.with_label_values(label),
            writes_sent: self.writes.with_label_values(&[name, "sent"]),
            writes_skipped: self.writes.with_label_values(&[name, "skipped"]),
            write_pauses: self.write_pauses.with_label_values(label),
            status_echoes: self.status_echoes.with_label_values(label),
            child_echoes: self.child_echoes.with_label_values(label),
        }
    }
}
