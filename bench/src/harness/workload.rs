//! The workloads of the peers.

use crate::generator::Kind;

/// The modifications per second of `latency`.
pub(super) const PACE: u64 = 1_000;

/// The number of objects of `latency`.
pub(super) const PACED_OBJECTS: u64 = 1_000;

/// The number of objects of `parked`, except in a smoke run.
pub(super) const PARKED_OBJECTS: u64 = 100_000;

/// The number of Pods of `watches`, and the modifications per second.
pub(super) const WATCHED_OBJECTS: u64 = 100;
pub(super) const WATCHED_PACE: u64 = 20;

/// The number of its watches that are read.
pub(super) const READ_WATCHES: u64 = 250;

/// The task of a peer's program, passed in `BENCH_WORKLOAD`. `Build` builds another program instead.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Workload {
    /// A cache of Pods that receives modifications.
    Cache,
    /// A controller of ConfigMaps that does nothing.
    Reconcile,
    /// A controller of ConfigMaps that applies a child for each.
    Apply,
    /// A controller of ConfigMaps that owns a Secret for each.
    Owned,
    /// A controller of a few ConfigMaps that change one after the other.
    Latency,
    /// A cache of Pods that a thread reads during a relist.
    Relist,
    /// A cache of Pods that are deleted and created again.
    Churn,
    /// As `Cache`, with counted allocations.
    Allocations,
    /// A controller of ConfigMaps that requeues each for an hour later, with counted memory.
    Parked,
    /// A client that renews a Lease while it has 300 watches of Pods open. It never reads 50 of them.
    Watches,
    /// A build of the smallest operator, which is not run.
    Build,
}

impl Workload {
    /// The workloads that measure time and resident memory.
    pub(super) const USUAL: [Self; 7] = [
        Self::Cache,
        Self::Reconcile,
        Self::Apply,
        Self::Owned,
        Self::Latency,
        Self::Relist,
        Self::Churn,
    ];

    /// The usual workloads and those for which the allocator matters little.
    pub(super) const PLAIN: [Self; 9] = [
        Self::Cache,
        Self::Reconcile,
        Self::Apply,
        Self::Owned,
        Self::Latency,
        Self::Relist,
        Self::Churn,
        Self::Watches,
        Self::Build,
    ];

    /// The workloads that count allocations, which takes time unless the runtime always counts.
    pub(super) const COUNTED: [Self; 2] = [Self::Allocations, Self::Parked];

    /// Its name in `BENCH_WORKLOAD`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Reconcile => "reconcile",
            Self::Apply => "apply",
            Self::Owned => "owned",
            Self::Latency => "latency",
            Self::Relist => "relist",
            Self::Churn => "churn",
            Self::Allocations => "allocations",
            Self::Parked => "parked",
            Self::Watches => "watches",
            Self::Build => "build",
        }
    }

    /// The kind of the server's objects, or `None` if the workload needs no server.
    pub(super) fn kind(self) -> Option<Kind> {
        match self {
            Self::Cache | Self::Relist | Self::Churn | Self::Allocations | Self::Watches => {
                Some(Kind::Pod)
            }
            Self::Reconcile | Self::Apply | Self::Owned | Self::Latency | Self::Parked => {
                Some(Kind::ConfigMap)
            }
            Self::Build => None,
        }
    }

    /// Whether it always uses TLS, because a peer may use HTTP/2 only over TLS.
    pub(super) fn is_secure(self) -> bool {
        self == Self::Watches
    }
}
