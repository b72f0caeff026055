//! What a peer is asked to do.

use crate::generator::Kind;

/// How many modifications there are in a second of `latency`.
pub(super) const PACE: u64 = 1_000;

/// How many objects `latency` has.
pub(super) const PACED_OBJECTS: u64 = 1_000;

/// A program that every peer has; `BENCH_WORKLOAD` names it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Workload {
    /// A cache of Pods, into which modifications come.
    Cache,
    /// A controller of ConfigMaps that does nothing.
    Reconcile,
    /// A controller of ConfigMaps that applies a child of each.
    Apply,
    /// A controller of ConfigMaps, of which a few change, one after the other.
    Latency,
    /// A cache of Pods that is read while all are listed again.
    Relist,
}

impl Workload {
    /// All.
    pub(super) const ALL: [Self; 5] = [
        Self::Cache,
        Self::Reconcile,
        Self::Apply,
        Self::Latency,
        Self::Relist,
    ];

    /// What peers are told.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cache => "cache",
            Self::Reconcile => "reconcile",
            Self::Apply => "apply",
            Self::Latency => "latency",
            Self::Relist => "relist",
        }
    }

    /// What the server has.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Cache | Self::Relist => Kind::Pod,
            Self::Reconcile | Self::Apply | Self::Latency => Kind::ConfigMap,
        }
    }

    /// The server's argument that says how many.
    pub(super) fn argument(self) -> &'static str {
        match self {
            Self::Cache | Self::Relist => "--pods",
            Self::Reconcile | Self::Apply | Self::Latency => "--config-maps",
        }
    }
}
