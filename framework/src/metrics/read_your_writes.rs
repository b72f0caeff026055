use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, Registry};

use super::{buckets, metrics};

/// What one controller's keys wait for: that the caches have what it wrote itself (design promise
/// R5). The series bear its name in the label `controller`.
///
/// Cloning shares the series.
#[derive(Clone, Debug)]
pub struct ReadYourWritesMetrics {
    /// Reconciles that were put off because a cache did not have what the key's last one wrote. The
    /// name is the one that Kubernetes' own controllers have (KEP-5647).
    pub skips: IntCounter,
    /// Seconds that such a key waited.
    pub waiting: Histogram,
    /// Objects of which the API server was asked how they are, because a cache did not get there or
    /// because the outcome of a write was not known: it said how.
    pub settled_found: IntCounter,
    /// The same: it said that there is no such object.
    pub settled_gone: IntCounter,
    /// The same: it refused to say, and the key waits no longer.
    pub settled_refused: IntCounter,
    /// The same: it could not say, and is asked again.
    pub settled_unavailable: IntCounter,
    /// What was asked of a cache and is not any more without having been met: its resource versions went
    /// backwards, or one key asked for too much.
    pub dropped: IntCounter,
}

#[derive(Debug)]
pub(super) struct ReadYourWritesFamilies {
    skips: IntCounterVec,
    waiting: HistogramVec,
    settled: IntCounterVec,
    dropped: IntCounterVec,
}

impl ReadYourWritesFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        let controller = &["controller"];
        Self {
            skips: metrics::counter(
                registry,
                "stale_sync_skips_total",
                "Reconciles put off because a cache was older than the controller's own writes",
                controller,
            ),
            waiting: metrics::histogram(
                registry,
                "pilothouse_controller_stale_wait_seconds",
                "Seconds that keys waited for a cache to have the controller's own writes",
                controller,
                buckets::informer_seconds(),
            ),
            settled: metrics::counter(
                registry,
                "pilothouse_controller_stale_settled_total",
                "Own writes of which the API server was asked instead of a cache, by what it said",
                &["controller", "result"],
            ),
            dropped: metrics::counter(
                registry,
                "pilothouse_controller_stale_dropped_total",
                "Own writes that are waited for no longer though no cache has them",
                controller,
            ),
        }
    }

    pub(super) fn of(&self, name: &str) -> ReadYourWritesMetrics {
        let settled = |result| self.settled.with_label_values(&[name, result]);
        let label = &[name];
        ReadYourWritesMetrics {
            skips: self.skips.with_label_values(label),
            waiting: self.waiting.with_label_values(label),
            settled_found: settled("found"),
            settled_gone: settled("gone"),
            settled_refused: settled("refused"),
            settled_unavailable: settled("unavailable"),
            dropped: self.dropped.with_label_values(label),
        }
    }
}
