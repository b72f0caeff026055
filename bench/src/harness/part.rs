//! The parts of the report that `--only` selects, and their tables.

use super::{
    run::Run,
    table::{Measure, less, more},
    trial::Trial,
    workload::Workload,
};

const MIB: f64 = 1024.0 * 1024.0;

/// A part of the report: one table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// Filling an empty cache.
    Sync,
    /// Modifications that arrive in a full cache.
    Modified,
    /// Reconciles that do nothing.
    Reconcile,
    /// Reconciles that apply a child.
    Apply,
    /// Reconciles that own a child.
    Owned,
    /// The time from an event to its reconcile.
    Latency,
    /// A list of all objects again.
    Relist,
    /// Deletions and creations of objects.
    Churn,
    /// Allocations for a modification.
    Allocations,
    /// Memory of a scheduled reconcile.
    Parked,
    /// The duration of a Lease renewal beside many watches.
    Watches,
    /// The build of the smallest operator.
    Build,
}

impl Part {
    /// All parts, in the order of the report.
    pub(super) const ALL: [Self; 12] = [
        Self::Sync,
        Self::Modified,
        Self::Reconcile,
        Self::Apply,
        Self::Owned,
        Self::Latency,
        Self::Relist,
        Self::Churn,
        Self::Allocations,
        Self::Parked,
        Self::Watches,
        Self::Build,
    ];

    /// Its name for `--only`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Modified => "modified",
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

    /// The workload that measures it.
    pub(super) fn workload(self) -> Workload {
        match self {
            Self::Sync | Self::Modified => Workload::Cache,
            Self::Reconcile => Workload::Reconcile,
            Self::Apply => Workload::Apply,
            Self::Owned => Workload::Owned,
            Self::Latency => Workload::Latency,
            Self::Relist => Workload::Relist,
            Self::Churn => Workload::Churn,
            Self::Allocations => Workload::Allocations,
            Self::Parked => Workload::Parked,
            Self::Watches => Workload::Watches,
            Self::Build => Workload::Build,
        }
    }

    /// The heading of its table.
    pub(super) fn title(self, trial: &Trial) -> String {
        match self {
            Self::Sync => "Cold sync of Pods".to_owned(),
            Self::Modified => "Modifications into the cache".to_owned(),
            Self::Reconcile => "Reconciles that do nothing".to_owned(),
            Self::Apply => "Reconciles with a server-side apply each".to_owned(),
            Self::Owned => "Objects with a child that is applied, owned and watched".to_owned(),
            Self::Latency => "From event to reconcile at 1000 events/s".to_owned(),
            Self::Relist => format!("Relist with {} % changed", trial.percent),
            Self::Churn => "Deletions and creations into the cache".to_owned(),
            Self::Allocations => "Allocations for a modification".to_owned(),
            Self::Parked => "Memory of keys that wait for an hour".to_owned(),
            Self::Watches => {
                "Renewals of a lease beside 300 watches, 50 unread, over TLS".to_owned()
            }
            Self::Build => "Clean release build of the smallest operator".to_owned(),
        }
    }

    pub(super) fn measures(self) -> &'static [Measure] {
        match self {
            Self::Sync => &SYNC,
            Self::Modified | Self::Churn => &MODIFIED,
            Self::Reconcile | Self::Apply => &RECONCILE,
            Self::Owned => &OWNED,
            Self::Latency => &LATENCY,
            Self::Relist => &RELIST,
            Self::Allocations => &ALLOCATIONS,
            Self::Parked => &PARKED,
            Self::Watches => &WATCHES,
            Self::Build => &BUILD,
        }
    }
}

const SYNC: [Measure; 5] = [
    less("sync, s", 2, |run| run.results.sync_seconds),
    less("CPU per object, µs", 1, |run| {
        per(run.results.sync_cpu * 1e6, run.results.objects)
    }),
    less("memory per object, KB", 1, |run| {
        per(grown(run.results.rss_sync, run) / 1e3, run.results.objects)
    }),
    less("peak, MiB", 0, |run| run.results.peak_sync as f64 / MIB),
    CONNECTIONS,
];

const MODIFIED: [Measure; 4] = [
    more("events/s", 0, |run| {
        run.results.events as f64 / run.results.events_seconds.max(1e-9)
    }),
    less("CPU per event, µs", 1, |run| {
        per(run.results.events_cpu * 1e6, run.results.events)
    }),
    less("memory after over after sync", 2, |run| {
        run.results.rss_events as f64 / (run.results.rss_sync as f64).max(1.0)
    }),
    less("memory after, MiB", 0, |run| {
        run.results.rss_events as f64 / MIB
    }),
];

const RECONCILE: [Measure; 5] = [
    more("reconciles/s", 0, |run| {
        run.results.reconciles.saturating_sub(1) as f64 / run.results.drain_seconds.max(1e-9)
    }),
    less("CPU per reconcile, µs", 1, |run| {
        per(run.results.drain_cpu * 1e6, run.results.reconciles)
    }),
    less("start to last, s", 2, |run| run.results.reconciled_seconds),
    less("memory after, MiB", 0, |run| {
        run.results.rss_drained as f64 / MIB
    }),
    CONNECTIONS,
];

const OWNED: [Measure; 6] = [
    more("objects/s", 0, |run| {
        run.served.children as f64 / run.results.drain_seconds.max(1e-9)
    }),
    less("CPU per object, µs", 1, |run| {
        per(run.results.drain_cpu * 1e6, run.served.children)
    }),
    less("applies per object", 2, |run| {
        per(run.served.applies as f64, run.served.children)
    }),
    less("reconciles per object", 2, |run| {
        per(run.results.reconciles as f64, run.served.children)
    }),
    less("memory after, MiB", 0, |run| {
        run.results.rss_drained as f64 / MIB
    }),
    CONNECTIONS,
];

const LATENCY: [Measure; 5] = [
    less("p50, µs", 0, |run| run.results.latency_p50),
    less("p99, µs", 0, |run| run.results.latency_p99),
    less("longest, µs", 0, |run| run.results.latency_max),
    less("CPU for all, s", 2, |run| run.results.latency_cpu),
    CONNECTIONS,
];

const RELIST: [Measure; 8] = [
    less("peak over steady memory", 2, |run| {
        run.results.peak_relist as f64 / (run.results.rss_sync as f64).max(1.0)
    }),
    less("peak, MiB", 0, |run| run.results.peak_relist as f64 / MIB),
    less("read p50, µs", 2, |run| run.results.read_p50),
    less("read p99, µs", 2, |run| run.results.read_p99),
    less("read p99.99, µs", 2, |run| run.results.read_p9999),
    less("p99.99 of doing nothing as long, µs", 2, |run| {
        run.results.idle_p9999
    }),
    less("longest read, µs", 0, |run| run.results.read_max),
    less("sleeps of the reader", 0, |run| {
        run.results.read_sleeps as f64
    }),
];

const ALLOCATIONS: [Measure; 2] = [
    less("allocations per event", 1, |run| {
        per(run.results.allocations as f64, run.results.events)
    }),
    less("allocated per event, KB", 2, |run| {
        per(run.results.allocated as f64 / 1e3, run.results.events)
    }),
];

const PARKED: [Measure; 2] = [
    less("bytes per key that waits", 0, |run| {
        let (parked, idle) = (run.results.parked_bytes, run.results.idle_bytes);
        per(parked.saturating_sub(idle) as f64, run.results.objects)
    }),
    less("all in use per object, bytes", 0, |run| {
        per(run.results.idle_bytes as f64, run.results.objects)
    }),
];

const WATCHES: [Measure; 6] = [
    less("p50, µs", 0, |run| run.results.renewal_p50),
    less("p99, µs", 0, |run| run.results.renewal_p99),
    less("longest, µs", 0, |run| run.results.renewal_max),
    less("p50 without watches, µs", 0, |run| run.results.alone_p50),
    less("p99 without watches, µs", 0, |run| run.results.alone_p99),
    CONNECTIONS,
];

const BUILD: [Measure; 4] = [
    less("build, s", 1, |run| run.results.build_seconds),
    less("CPU, s", 1, |run| run.results.build_cpu),
    less("crates", 0, |run| run.results.crates as f64),
    less("program, MB", 1, |run| run.results.binary as f64 / 1e6),
];

/// The number of connections.
const CONNECTIONS: Measure = less("connections", 0, |run| run.served.connections as f64);

fn grown(memory: u64, run: &Run) -> f64 {
    memory.saturating_sub(run.results.rss_start) as f64
}

fn per(value: f64, count: u64) -> f64 {
    value / count.max(1) as f64
}
