//! Measures from the first reconcile until the work is done.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::process::{Results, cpu, memory};

/// The work is done when there was no reconcile for this long.
const QUIET: Duration = Duration::from_secs(1);

/// Counts reconciles, of which an object may have several.
pub struct Settle {
    start: Instant,
    wanted: u64,
    count: AtomicU64,
    first: OnceLock<(Instant, f64)>,
    /// Nanoseconds from the start to the end of the last reconcile.
    last: AtomicU64,
}

impl Settle {
    /// Returns the counter of a program that has just started.
    pub fn new(wanted: u64) -> Self {
        Self {
            start: Instant::now(),
            wanted,
            count: AtomicU64::new(0),
            first: OnceLock::new(),
            last: AtomicU64::new(0),
        }
    }

    /// Records that a reconcile has ended.
    pub fn reconciled(&self) {
        if self.count.fetch_add(1, Ordering::Relaxed) == 0 {
            let _ = self.first.set((Instant::now(), cpu()));
        }
        let now = self.start.elapsed().as_nanos() as u64;
        self.last.fetch_max(now, Ordering::Relaxed);
    }

    /// Waits until the work is done and reports the cost. The processor time counts until then, because the watch events
    /// after the last reconcile belong to the work.
    pub async fn measure(&self, results: &mut Results) {
        let last = loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let last = Duration::from_nanos(self.last.load(Ordering::Relaxed));
            let is_quiet = self.start.elapsed() > last + QUIET;
            if self.count.load(Ordering::Relaxed) >= self.wanted && is_quiet {
                break last;
            }
        };
        results.set("reconciles", self.count.load(Ordering::Relaxed) as f64);
        results.set("rss_drained", memory("VmRSS"));
        results.set("reconciled_seconds", last.as_secs_f64());
        if let Some((first, before)) = self.first.get() {
            let first = first.duration_since(self.start);
            results.set("drain_seconds", last.saturating_sub(first).as_secs_f64());
            results.set("drain_cpu", cpu() - before);
        }
    }
}
