//! The workloads of the peers.

use crate::generator::Kind;

/// The modifications per second of `latency`.
pub(super) const PACE: u64 = 1_000;

/// The number of objects of `latency`.
pub(super) const PACED_OBJECTS: u64 = 1_000;

/// The modifications per second of `paced`.
pub(super) const CHANGES: u64 = 1_500;

/// The numbers of objects and events of `paced`, except in a smoke run.
pub(super) const CHANGED_OBJECTS: u64 = 10_000;
pub(super) const CHANGED_EVENTS: u64 = 30_000;

/// The number of objects of `parked`, except in a smoke run.
pub(super) const PARKED_OBJECTS: u64 = 100_000;

/// The number of caches of `idle`, and the seconds that it watches them, except in a smoke run.
pub(super) const IDLE_CACHES: u64 = 200;
pub(super) const IDLE_SECONDS: u64 = 10;

/// The number of objects of `exit`, except in a smoke run.
pub(super) const EXIT_OBJECTS: u64 = 100_000;

/// The number of Pods of `watches`, and the modifications per second.
pub(super) const WATCHED_OBJECTS: u64 = 100;
pub(super) const WATCHED_PACE: u64 = 20;

/// The number of its watches that are read.
pub(super) const READ_WATCHES: u64 = 250;

/// The task of a peer's program, passed in `BENCH_WORKLOAD`. `Build` and `Rebuild` build another program instead.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Workload {
    /// A cache of Pods that receives modifications.
    Cache,
    /// Caches of four kinds in one process.
    Kinds,
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
    /// A cache of Pods that a thread reads while nothing changes.
    Reads,
    /// A cache of Pods that are deleted and created again.
    Churn,
    /// A cache of objects that change at a rate that every peer keeps up with.
    Paced,
    /// As `Cache`, with counted allocations.
    Allocations,
    /// 200 caches on watches that stay silent.
    Idle,
    /// A controller of many ConfigMaps whose process gets SIGTERM.
    Exit,
    /// A controller of ConfigMaps that requeues each for an hour later, with counted memory.
    Parked,
    /// A client that renews a Lease while it has 300 watches of Pods open. It never reads 50 of them.
    Watches,
    /// A build of the smallest operator, which is not run.
    Build,
    /// A build of the same in dev after a change of its `reconcile`.
    Rebuild,
}

impl Workload {
    /// The workloads that measure time and resident memory.
    pub(super) const USUAL: [Self; 12] = [
        Self::Cache,
        Self::Kinds,
        Self::Reconcile,
        Self::Apply,
        Self::Owned,
        Self::Latency,
        Self::Relist,
        Self::Reads,
        Self::Churn,
        Self::Paced,
        Self::Idle,
        Self::Exit,
    ];

    /// The usual workloads and those for which the allocator matters little.
    pub(super) const PLAIN: [Self; 15] = [
        Self::Cache,
        Self::Kinds,
        Self::Reconcile,
        Self::Apply,
        Self::Owned,
        Self::Latency,
        Self::Relist,
        Self::Reads,
        Self::Churn,
        Self::Paced,
        Self::Idle,
        Self::Exit,
        Self::Watches,
        Self::Build,
        Self::Rebuild,
    ];

    /// The workloads that count allocations, which takes time unless the runtime always counts.
    pub(super) const COUNTED: [Self; 2] = [Self::Allocations, Self::Parked];

    /// Its name in `BENCH_WORKLOAD`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Kinds => "kinds",
            Self::Reconcile => "reconcile",
            Self::Apply => "apply",
            Self::Owned => "owned",
            Self::Latency => "latency",
            Self::Relist => "relist",
            Self::Reads => "reads",
            Self::Churn => "churn",
            Self::Paced => "paced",
            Self::Allocations => "allocations",
            Self::Idle => "idle",
            Self::Exit => "exit",
            Self::Parked => "parked",
            Self::Watches => "watches",
            Self::Build => "build",
            Self::Rebuild => "rebuild",
        }
    }

    /// The kinds that `Kinds` caches at once.
    pub(super) const KINDS: [Kind; 4] = [Kind::Pod, Kind::Node, Kind::ConfigMap, Kind::Secret];

    /// The kind of the server's objects, the first one if there are several, unless `--shape` chooses another, or `None` if the workload needs no server.
    pub(super) fn kind(self) -> Option<Kind> {
        match self {
            Self::Cache
            | Self::Relist
            | Self::Reads
            | Self::Churn
            | Self::Paced
            | Self::Kinds
            | Self::Idle
            | Self::Allocations
            | Self::Watches => Some(Kind::Pod),
            Self::Reconcile
            | Self::Apply
            | Self::Owned
            | Self::Latency
            | Self::Exit
            | Self::Parked => Some(Kind::ConfigMap),
            Self::Build | Self::Rebuild => None,
        }
    }

    /// Whether it always uses TLS, because a peer may use HTTP/2 only over TLS.
    pub(super) fn is_secure(self) -> bool {
        matches!(self, Self::Watches | Self::Idle)
    }
}
