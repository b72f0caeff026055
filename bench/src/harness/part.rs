//! The parts of the report that `--only` selects, and their tables.

use super::{
    run::Run,
    table::{Measure, less, more},
    trial::Trial,
    workload::{CHANGES, IDLE_CACHES, Workload},
};
use crate::generator::Kind;

const MIB: f64 = 1024.0 * 1024.0;

/// A part of the report: one table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// Filling an empty cache.
    Sync,
    /// Modifications that arrive in a full cache.
    Modified,
    /// Filling empty caches of four kinds at once.
    Kinds,
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
    /// Gets from a full cache.
    Reads,
    /// Deletions and creations of objects.
    Churn,
    /// Modifications at a rate that every peer keeps up with.
    Paced,
    /// Allocations for a modification.
    Allocations,
    /// What a process with many caches does while nothing changes.
    Idle,
    /// The end of a process with many objects.
    Exit,
    /// Memory of a scheduled reconcile.
    Parked,
    /// The duration of a Lease renewal beside many watches.
    Watches,
    /// The build of the smallest operator.
    Build,
    /// Another build of it after a change.
    Rebuild,
}

impl Part {
    /// All parts, in the order of the report.
    pub(super) const ALL: [Self; 18] = [
        Self::Sync,
        Self::Modified,
        Self::Kinds,
        Self::Reconcile,
        Self::Apply,
        Self::Owned,
        Self::Latency,
        Self::Relist,
        Self::Reads,
        Self::Churn,
        Self::Paced,
        Self::Allocations,
        Self::Idle,
        Self::Exit,
        Self::Parked,
        Self::Watches,
        Self::Build,
        Self::Rebuild,
    ];

    /// Its name for `--only`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Modified => "modified",
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

    /// The workload that measures it.
    pub(super) fn workload(self) -> Workload {
        match self {
            Self::Sync | Self::Modified => Workload::Cache,
            Self::Kinds => Workload::Kinds,
            Self::Reconcile => Workload::Reconcile,
            Self::Apply => Workload::Apply,
            Self::Owned => Workload::Owned,
            Self::Latency => Workload::Latency,
            Self::Relist => Workload::Relist,
            Self::Reads => Workload::Reads,
            Self::Churn => Workload::Churn,
            Self::Paced => Workload::Paced,
            Self::Allocations => Workload::Allocations,
            Self::Idle => Workload::Idle,
            Self::Exit => Workload::Exit,
            Self::Parked => Workload::Parked,
            Self::Watches => Workload::Watches,
            Self::Build => Workload::Build,
            Self::Rebuild => Workload::Rebuild,
        }
    }

    /// The heading of its table.
    pub(super) fn title(self, trial: &Trial) -> String {
        match self {
            Self::Sync => format!("Cold sync of {}", of_kind(trial)),
            Self::Modified => format!("Modifications into a cache of {}", of_kind(trial)),
            Self::Kinds => {
                let kinds = Workload::KINDS.map(Kind::plural).join(", ");
                format!("Cold sync of {kinds} at once, a quarter each")
            }
            Self::Reconcile => "Reconciles that do nothing".to_owned(),
            Self::Apply => "Reconciles with a server-side apply each".to_owned(),
            Self::Owned => "Objects with a child that is applied, owned and watched".to_owned(),
            Self::Latency => "From event to reconcile at 1000 events/s".to_owned(),
            Self::Relist => format!(
                "Relist of {} with {} % changed",
                of_kind(trial),
                trial.percent
            ),
            Self::Reads => "Gets of Pods from a full cache".to_owned(),
            Self::Churn => format!("Deletions and creations in a cache of {}", of_kind(trial)),
            Self::Paced => format!("{CHANGES} changes/s in a cache of {}", of_kind(trial)),
            Self::Allocations => {
                format!(
                    "Allocations for a modification in a cache of {}",
                    of_kind(trial)
                )
            }
            Self::Idle => format!("{IDLE_CACHES} caches on silent watches, over TLS"),
            Self::Exit => "From SIGTERM to the end of a controller".to_owned(),
            Self::Parked => "Memory of keys that wait for an hour".to_owned(),
            Self::Watches => {
                "Renewals of a lease beside 300 watches, 50 unread, over TLS".to_owned()
            }
            Self::Build => "Clean release build of the smallest operator".to_owned(),
            Self::Rebuild => "Build in dev after a change of `reconcile`".to_owned(),
        }
    }

    pub(super) fn measures(self) -> &'static [Measure] {
        match self {
            Self::Sync | Self::Kinds => &SYNC,
            Self::Modified | Self::Churn => &MODIFIED,
            Self::Reconcile | Self::Apply => &RECONCILE,
            Self::Paced => &PACED,
            Self::Owned => &OWNED,
            Self::Latency => &LATENCY,
            Self::Relist => &RELIST,
            Self::Reads => &READS,
            Self::Allocations => &ALLOCATIONS,
            Self::Idle => &IDLE,
            Self::Exit => &EXIT,
            Self::Parked => &PARKED,
            Self::Watches => &WATCHES,
            Self::Build => &BUILD,
            Self::Rebuild => &REBUILD,
        }
    }
}

const SYNC: [Measure; 6] = [
    less("sync, s", 2, |run| run.results.sync_seconds),
    less("CPU per object, µs", 1, |run| {
        per(run.results.sync_cpu * 1e6, run.results.objects)
    }),
    less("memory per object, KB", 1, |run| {
        per(grown(run.results.rss_sync, run) / 1e3, run.results.objects)
    }),
    less("peak, MiB", 0, |run| run.results.peak_sync as f64 / MIB),
    less("end of the process, s", 3, |run| run.exit_seconds),
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

const PACED: [Measure; 4] = [
    less("memory after over before", 2, |run| {
        run.results.rss_events as f64 / (run.results.rss_sync as f64).max(1.0)
    }),
    less("memory before, MiB", 0, |run| {
        run.results.rss_sync as f64 / MIB
    }),
    less("memory after, MiB", 0, |run| {
        run.results.rss_events as f64 / MIB
    }),
    less("CPU per event, µs", 1, |run| {
        per(run.results.events_cpu * 1e6, run.results.events)
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

const READS: [Measure; 6] = [
    less("first get p50, µs", 2, |run| run.results.asleep_p50),
    less("first get p99, µs", 2, |run| run.results.asleep_p99),
    less("get again p50, µs", 2, |run| run.results.awake_p50),
    less("get again p99, µs", 2, |run| run.results.awake_p99),
    less("view p50, µs", 2, |run| or_none(run.results.view_p50)),
    less("view p99, µs", 2, |run| or_none(run.results.view_p99)),
];

const ALLOCATIONS: [Measure; 2] = [
    less("allocations per event", 1, |run| {
        per(run.results.allocations as f64, run.results.events)
    }),
    less("allocated per event, KB", 2, |run| {
        per(run.results.allocated as f64 / 1e3, run.results.events)
    }),
];

const IDLE: [Measure; 5] = [
    less("wake-ups/s", 2, |run| {
        run.results.idle_wakeups as f64 / run.results.idle_seconds.max(1e-9)
    }),
    less("CPU, ms/s", 2, |run| {
        run.results.idle_cpu * 1e3 / run.results.idle_seconds.max(1e-9)
    }),
    less("memory with one object, MiB", 1, |run| {
        run.results.rss_one as f64 / MIB
    }),
    less("memory with all caches, MiB", 1, |run| {
        run.results.rss_idle as f64 / MIB
    }),
    CONNECTIONS,
];

const EXIT: [Measure; 2] = [
    less("to the end, s", 3, |run| run.exit_seconds),
    less("memory before, MiB", 0, |run| {
        run.results.rss_drained as f64 / MIB
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

const REBUILD: [Measure; 2] = [
    less("build, s", 2, |run| run.results.rebuild_seconds),
    less("CPU, s", 2, |run| run.results.rebuild_cpu),
];

/// The number of connections.
const CONNECTIONS: Measure = less("connections", 0, |run| run.served.connections as f64);

/// Returns the objects of a trial in the plural.
fn of_kind(trial: &Trial) -> &'static str {
    trial.kind.map_or("nothing", Kind::plural)
}

/// Returns a value that only some peers measure, for a cell that is empty if it was not measured.
fn or_none(value: f64) -> f64 {
    if value > 0.0 { value } else { f64::NAN }
}

fn grown(memory: u64, run: &Run) -> f64 {
    memory.saturating_sub(run.results.rss_start) as f64
}

fn per(value: f64, count: u64) -> f64 {
    value / count.max(1) as f64
}
