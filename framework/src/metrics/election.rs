use prometheus::{Gauge, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, Registry};

use super::{buckets, metrics};

/// The families of leader elections.
#[derive(Clone, Debug)]
pub(super) struct ElectionFamilies {
    master: GaugeVec,
    slow_paths: IntCounterVec,
    renewals: HistogramVec,
    refusals: IntCounterVec,
}

impl ElectionFamilies {
    pub(super) fn register(registry: &Registry) -> Self {
        let name = &["name"];
        Self {
            master: metrics::gauge(
                registry,
                "leader_election_master_status",
                "Whether this process leads: 1 if it does, 0 if it stands by. 'name' identifies the lease.",
                name,
            ),
            slow_paths: metrics::counter(
                registry,
                "leader_election_slowpath_total",
                "Renewals that had to read the lease first because writing it right away failed.",
                name,
            ),
            renewals: metrics::histogram(
                registry,
                "leader_election_renew_duration_seconds",
                "How long successful renewals of a lease took, in seconds.",
                name,
                buckets::request_seconds(),
            ),
            refusals: metrics::counter(
                registry,
                "leader_election_fence_refusals_total",
                "Requests that were not sent because this process did not lead any more.",
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
        }
    }
}

/// The series of one election; `name` is the Lease's. Cloning shares them.
#[derive(Clone, Debug)]
pub struct ElectionMetrics {
    /// 1 while this process leads.
    pub master: Gauge,
    /// Renewals that had to read the lease first.
    pub slow_paths: IntCounter,
    /// How long successful renewals took, in seconds.
    pub renewals: Histogram,
    /// Requests that the fence kept back.
    pub refusals: IntCounter,
}
