//! What a peer is asked to do.

use crate::generator::Kind;

/// How many modifications there are in a second of `latency`.
pub(super) const PACE: u64 = 1_000;

/// How many objects `latency` has.
pub(super) const PACED_OBJECTS: u64 = 1_000;

/// How many objects `parked` has, unless it is quick.
pub(super) const PARKED_OBJECTS: u64 = 100_000;

/// How many Pods `watches` has, and how many modifications of them in a second.
pub(super) const WATCHED_OBJECTS: u64 = 100;
pub(super) const WATCHED_PACE: u64 = 20;

/// How many of its watches are read.
pub(super) const READ_WATCHES: u64 = 250;

/// What a peer's program does, told by `BENCH_WORKLOAD`; or, of `Build`, what is done with another one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Workload {
    /// A cache of Pods, into which modifications come.
    Cache,
    /// A controller of ConfigMaps that does nothing.
    Reconcile,
    /// A controller of ConfigMaps that applies a child of each.
    Apply,
    /// A controller of ConfigMaps that owns a Secret of each.
    Owned,
    /// A controller of ConfigMaps, of which a few change, one after the other.
    Latency,
    /// A cache of Pods that is read while all are listed again.
    Relist,
    /// A cache of Pods, some of which are always just gone.
    Churn,
    /// As `Cache`; allocations are counted.
    Allocations,
    /// A controller of ConfigMaps that wants to see each again in an hour; memory is counted.
    Parked,
    /// A lease is renewed by a client that has 300 watches of Pods open, of which nobody reads 50.
    Watches,
    /// The smallest operator is built, and not run.
    Build,
}

impl Workload {
    /// Those that are measured by time and by what is resident.
    pub(super) const USUAL: [Self; 7] = [
        Self::Cache,
        Self::Reconcile,
        Self::Apply,
        Self::Owned,
        Self::Latency,
        Self::Relist,
        Self::Churn,
    ];

    /// The usual ones, and what an allocator matters little for.
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

    /// Those in which allocations are counted, which takes time unless the runtime always does it.
    pub(super) const COUNTED: [Self; 2] = [Self::Allocations, Self::Parked];

    /// What peers are told.
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

    /// What the server has; nothing runs against it without.
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

    /// Whether it is over TLS whatever is asked for: only then a peer may want HTTP/2.
    pub(super) fn is_secure(self) -> bool {
        self == Self::Watches
    }
}
