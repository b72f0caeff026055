//! What one run of a peer gave.

use serde::Deserialize;

/// More of the machine than this must not go to others during a run.
pub(super) const DISTURBED: f64 = 0.06;

/// The line that a peer ends with. Seconds, bytes, and microseconds where it is told how long something waited. A peer
/// leaves out what its workload does not have.
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
    /// How many reconciles there were; one for each object, unless it owns what is watched.
    pub(super) reconciles: u64,
    /// From the start to the last of them.
    pub(super) reconciled_seconds: f64,
    /// From the first to the last of them.
    pub(super) drain_seconds: f64,
    pub(super) drain_cpu: f64,
    pub(super) rss_drained: u64,
    /// How many stamps were seen in reconciles, each counted once.
    pub(super) stamps: u64,
    pub(super) latency_p50: f64,
    pub(super) latency_p99: f64,
    pub(super) latency_max: f64,
    pub(super) latency_cpu: f64,
    /// The most that was resident from before the relist until it was done.
    pub(super) peak_relist: u64,
    /// How many cached objects had another resource version then.
    pub(super) changed: u64,
    pub(super) reads: u64,
    pub(super) read_p50: f64,
    pub(super) read_p99: f64,
    pub(super) read_p9999: f64,
    pub(super) read_max: f64,
    /// Of doing nothing, for as long as each read.
    pub(super) idle_p9999: f64,
    /// How often the reader waited for something else than a processor.
    pub(super) read_sleeps: u64,
    /// How often memory was asked for during the events, larger memory included, and how much.
    pub(super) allocations: u64,
    pub(super) allocated: u64,
    /// What is in use, of what was asked for: when all were reconciled and nothing is to come, and when all are to be
    /// reconciled again later.
    pub(super) idle_bytes: u64,
    pub(super) parked_bytes: u64,
    /// How long a renewal of a lease took before there was a watch, and beside them.
    pub(super) alone_p50: f64,
    pub(super) alone_p99: f64,
    pub(super) renewals: u64,
    pub(super) renewal_p50: f64,
    pub(super) renewal_p99: f64,
    pub(super) renewal_max: f64,
    /// How many watches were told of events meanwhile.
    pub(super) watches: u64,
    /// Of a clean build.
    pub(super) build_seconds: f64,
    pub(super) build_cpu: f64,
    pub(super) crates: u64,
    /// How large the program is.
    pub(super) binary: u64,
}

/// A run, and what else the machine did meanwhile.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// What the peer says.
    pub(super) results: Results,
    /// The share of the machine that went to others.
    pub(super) foreign: f64,
    /// Processor seconds of the server.
    pub(super) server_cpu: f64,
    /// What the server saw of it.
    pub(super) served: Counts,
}

/// What the server counts since its last reset.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
pub(super) struct Counts {
    /// Connections that it accepted.
    pub(super) connections: u64,
    /// Objects that were applied.
    pub(super) applies: u64,
    /// Secrets that are there by that.
    pub(super) children: u64,
    /// Leases that were renewed.
    pub(super) renewals: u64,
}

impl Run {
    /// Whether it does not count.
    pub(super) fn is_disturbed(&self) -> bool {
        self.foreign > DISTURBED
    }
}

/// The runs of one peer: those that count, and how many do not.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// Undisturbed.
    pub(super) counted: Vec<Run>,
    /// Disturbed, and thrown away.
    pub(super) discarded: usize,
}

impl Runs {
    /// Takes a run in; says whether it counts.
    pub(super) fn take(&mut self, run: Run) -> bool {
        if run.is_disturbed() {
            self.discarded += 1;
            return false;
        }
        self.counted.push(run);
        true
    }
}
