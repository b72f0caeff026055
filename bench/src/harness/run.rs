//! The results of one run of a peer.

use serde::Deserialize;

/// The largest share of the machine that others may take during a run that counts.
pub(super) const DISTURBED: f64 = 0.06;

/// The last line that a peer prints. The units are seconds and bytes, and microseconds for waiting times. A peer leaves
/// out what its workload does not measure.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)]
pub(super) struct Results {
    pub(super) objects: u64,
    pub(super) sync_seconds: f64,
    pub(super) sync_cpu: f64,
    pub(super) rss_start: u64,
    pub(super) rss_sync: u64,
    pub(super) peak_sync: u64,
    pub(super) events: u64,
    pub(super) events_seconds: f64,
    pub(super) events_cpu: f64,
    pub(super) rss_events: u64,
    pub(super) peak: u64,
    /// The number of reconciles: one per object, unless the peer owns and watches children.
    pub(super) reconciles: u64,
    /// The time from the start to the last reconcile.
    pub(super) reconciled_seconds: f64,
    /// The time from the first to the last reconcile.
    pub(super) drain_seconds: f64,
    pub(super) drain_cpu: f64,
    pub(super) rss_drained: u64,
    /// The number of stamps that reconciles saw, each counted once.
    pub(super) stamps: u64,
    pub(super) latency_p50: f64,
    pub(super) latency_p99: f64,
    pub(super) latency_max: f64,
    pub(super) latency_cpu: f64,
    /// The peak of the resident memory from before the relist until its end.
    pub(super) peak_relist: u64,
    /// The number of cached objects that had another resource version after the relist.
    pub(super) changed: u64,
    pub(super) reads: u64,
    pub(super) read_p50: f64,
    pub(super) read_p99: f64,
    pub(super) read_p9999: f64,
    pub(super) read_max: f64,
    /// The same percentile for an idle loop as long as each read.
    pub(super) idle_p9999: f64,
    /// How often the reader waited for anything other than a processor.
    pub(super) read_sleeps: u64,
    /// The number of objects that were read once, and the durations of these gets.
    pub(super) gets: u64,
    pub(super) asleep_p50: f64,
    pub(super) asleep_p99: f64,
    /// The same for objects that were read just before.
    pub(super) awake_p50: f64,
    pub(super) awake_p99: f64,
    /// The same for views, or 0 if the peer has none.
    pub(super) view_p50: f64,
    pub(super) view_p99: f64,
    /// The number of allocations during the events, reallocations included, and the allocated bytes.
    pub(super) allocations: u64,
    pub(super) allocated: u64,
    /// Allocated bytes in use: when all objects were reconciled and nothing is scheduled, and when all objects are
    /// scheduled for a later reconcile.
    pub(super) idle_bytes: u64,
    pub(super) parked_bytes: u64,
    /// The resident memory with a cache of one object.
    pub(super) rss_one: u64,
    /// The resident memory with all idle caches.
    pub(super) rss_idle: u64,
    /// The number of idle caches, and how long they were watched.
    pub(super) caches: u64,
    pub(super) idle_seconds: f64,
    /// How often threads of the process slept meanwhile, and the processor time.
    pub(super) idle_wakeups: u64,
    pub(super) idle_cpu: f64,
    /// The duration of a Lease renewal before there were watches, and beside them.
    pub(super) alone_p50: f64,
    pub(super) alone_p99: f64,
    pub(super) renewals: u64,
    pub(super) renewal_p50: f64,
    pub(super) renewal_p99: f64,
    pub(super) renewal_max: f64,
    /// The number of watches that received events meanwhile.
    pub(super) watches: u64,
    /// The seconds of a clean build.
    pub(super) build_seconds: f64,
    pub(super) build_cpu: f64,
    pub(super) crates: u64,
    /// The seconds of a build after a change of `reconcile`.
    pub(super) rebuild_seconds: f64,
    pub(super) rebuild_cpu: f64,
    /// The size of the program.
    pub(super) binary: u64,
}

/// A run, and the load of the machine during it.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// The results that the peer printed.
    pub(super) results: Results,
    /// The seconds from the last word of the peer, or from SIGTERM if it is told to end, until its process had ended.
    pub(super) exit_seconds: f64,
    /// The share of the machine that others took.
    pub(super) foreign: f64,
    /// Processor seconds of the server.
    pub(super) server_cpu: f64,
    /// The server's counts of the run.
    pub(super) served: Counts,
}

/// The server's counts since its last reset.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
pub(super) struct Counts {
    /// Connections that it accepted.
    pub(super) connections: u64,
    /// Objects that were applied.
    pub(super) applies: u64,
    /// Secrets that exist because of the applies.
    pub(super) children: u64,
    /// Leases that were renewed.
    pub(super) renewals: u64,
}

impl Run {
    /// Whether others took too much of the machine, so that the run does not count.
    pub(super) fn is_disturbed(&self) -> bool {
        self.foreign > DISTURBED
    }
}

/// The runs of one peer that count, and the number of those that do not.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// The undisturbed runs.
    pub(super) counted: Vec<Run>,
    /// The number of disturbed runs, which are discarded.
    pub(super) discarded: usize,
}

impl Runs {
    /// Adds a run and returns whether it counts.
    pub(super) fn add(&mut self, run: Run) -> bool {
        if run.is_disturbed() {
            self.discarded += 1;
            return false;
        }
        self.counted.push(run);
        true
    }
}
