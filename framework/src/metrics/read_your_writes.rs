use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, Registry};

use super::{buckets, families};

/// The series of one controller about its own writes: how long keys wait until the caches hold them
/// (R5). The label `controller` holds the controller's name.
///
/// Clones share the series.
#[derive(Clone, Debug)]
pub(crate) struct ReadYourWritesMetrics {
    /// Reconciles that were postponed because a cache did not hold the writes of the key's last
    /// reconcile yet. The name is the one that Kubernetes' own controllers use (KEP-5647).
    pub skips: IntCounter,
    /// Seconds that such a key waited.
    pub waiting: Histogram,
    /// Checks with the API server that found the object. A key checks an object with the API server if
    /// a cache did not reach the write in time, or if the outcome of the write is unknown.
    pub settled_found: IntCounter,
    /// Such checks that found that the object does not exist.
    pub settled_gone: IntCounter,
    /// Such checks that the API server refused. The key does not wait any longer.
    pub settled_refused: IntCounter,
    /// Such checks that failed for now and are repeated.
    pub settled_unavailable: IntCounter,
    /// Writes that a key stopped waiting for without a result: the cache's resource versions went
    /// backwards, or one key waited for too many writes.
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
            skips: families::counter(
                registry,
                "stale_sync_skips_total",
                "Reconciles that were postponed because a cache did not hold the controller's own writes yet.",
                controller,
            ),
            waiting: families::histogram(
                registry,
                "pilothouse_controller_stale_wait_seconds",
                "Seconds that keys waited until a cache held the controller's own writes.",
                controller,
                buckets::informer_seconds(),
            ),
            settled: families::counter(
                registry,
                "pilothouse_controller_stale_settled_total",
                "Own writes that were checked with the API server instead of a cache, by result.",
                &["controller", "result"],
            ),
            dropped: families::counter(
                registry,
                "pilothouse_controller_stale_dropped_total",
                "Own writes that keys stopped waiting for although no cache holds them.",
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
