use prometheus::{Gauge, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, Registry};

use super::{buckets, families};

/// The metric families of leader elections.
#[derive(Clone, Debug)]
pub(super) struct ElectionFamilies {
    master: GaugeVec,
    slow_paths: IntCounterVec,
    renewals: HistogramVec,
    refusals: IntCounterVec,
    expired_takeover: GaugeVec,
}

impl ElectionFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        let name = &["name"];
        Self {
            master: families::gauge(
                registry,
                "leader_election_master_status",
                "1 if this process leads, 0 if it stands by. The label 'name' holds the name of the Lease.",
                name,
            ),
            slow_paths: families::counter(
                registry,
                "leader_election_slowpath_total",
                "Renewals that had to read the Lease first because the direct write failed.",
                name,
            ),
            renewals: families::histogram(
                registry,
                "leader_election_renew_duration_seconds",
                "Seconds that a successful renewal of a Lease took.",
                name,
                buckets::request_seconds(),
            ),
            refusals: families::counter(
                registry,
                "leader_election_fence_refusals_total",
                "Requests that were not sent because this process did not lead any more.",
                name,
            ),
            expired_takeover: families::gauge(
                registry,
                "leader_election_expired_takeover_timestamp_seconds",
                "When this process took over a Lease that had expired because the leader before it had not released it, in seconds since 1970. 0 if it did not.",
                name,
            ),
        }
    }

    pub(super) fn of(&self, lease: &str) -> ElectionMetrics {
        ElectionMetrics {
            master: self.master.with_label_values(&[lease]),
            slow_paths: self.slow_paths.with_label_values(&[lease]),
            renewals: self.renewals.with_label_values(&[lease]),
            refusals: self.refusals.with_label_values(&[lease]),
            expired_takeover: self.expired_takeover.with_label_values(&[lease]),
        }
    }
}

/// The series of one election. The label `name` holds the name of the Lease. Clones share the series.
#[derive(Clone, Debug)]
pub(crate) struct ElectionMetrics {
    /// 1 while this process leads.
    pub master: Gauge,
    /// Renewals that had to read the Lease first.
    pub slow_paths: IntCounter,
    /// How long successful renewals took, in seconds.
    pub renewals: Histogram,
    /// Requests that the fence refused.
    pub refusals: IntCounter,
    /// When this process took over a Lease that the leader before it had not released.
    ///
    /// It is a time and not a counter: a process leads once at most, and a counter that is 1 at the first scrape never rises for Prometheus.
    pub expired_takeover: Gauge,
}
