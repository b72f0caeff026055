//! What is measured.

use super::{run::Run, table::Measure};

const MIB: f64 = 1024.0 * 1024.0;

/// A row of the design's targets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Workload {
    /// A cache that is filled from nothing.
    Sync,
    /// Changes that come into a full cache.
    Modified,
}

impl Workload {
    /// All.
    pub(super) const ALL: [Self; 2] = [Self::Sync, Self::Modified];

    /// What `--only` calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Modified => "modified",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Sync => "Cold sync of Pods",
            Self::Modified => "Modifications into the cache",
        }
    }

    pub(super) fn measures(self) -> &'static [Measure] {
        match self {
            Self::Sync => &SYNC,
            Self::Modified => &MODIFIED,
        }
    }
}

const SYNC: [Measure; 4] = [
    Measure {
        name: "sync, s",
        more: false,
        digits: 2,
        value: |run| run.results.sync_seconds,
    },
    Measure {
        name: "CPU per object, µs",
        more: false,
        digits: 1,
        value: |run| per(run.results.sync_cpu * 1e6, run.results.objects),
    },
    Measure {
        name: "memory per object, KB",
        more: false,
        digits: 1,
        value: |run| per(grown(run.results.rss_sync, run) / 1e3, run.results.objects),
    },
    Measure {
        name: "peak, MiB",
        more: false,
        digits: 0,
        value: |run| run.results.peak_sync as f64 / MIB,
    },
];

const MODIFIED: [Measure; 4] = [
    Measure {
        name: "events/s",
        more: true,
        digits: 0,
        value: |run| run.results.events as f64 / run.results.events_seconds.max(1e-9),
    },
    Measure {
        name: "CPU per event, µs",
        more: false,
        digits: 1,
        value: |run| per(run.results.events_cpu * 1e6, run.results.events),
    },
    Measure {
        name: "memory after over after sync",
        more: false,
        digits: 2,
        value: |run| run.results.rss_events as f64 / (run.results.rss_sync as f64).max(1.0),
    },
    Measure {
        name: "memory after, MiB",
        more: false,
        digits: 0,
        value: |run| run.results.rss_events as f64 / MIB,
    },
];

fn grown(memory: u64, run: &Run) -> f64 {
    memory.saturating_sub(run.results.rss_start) as f64
}

fn per(value: f64, count: u64) -> f64 {
    value / count.max(1) as f64
}
