//! What one run of a peer gave.

use serde::Deserialize;

/// More of the machine than this must not go to others during a run.
pub(super) const DISTURBED: f64 = 0.06;

/// The line that a peer ends with. Seconds and bytes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
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
