//! Measures from the first reconcile to the last.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use super::{
    allocations::Allocations,
    process::{Results, cpu, memory},
};

/// A time, and the resources that the process had used by then.
type Moment = (Instant, f64, Option<Allocations>);

/// Counts reconciles and records the first and the last of them.
pub struct Drain {
    start: Instant,
    wanted: u64,
    count: AtomicU64,
    first: OnceLock<Moment>,
    last: OnceLock<Moment>,
    done: Notify,
}

impl Drain {
    /// Returns the counter of a program that has just started.
    pub fn new(wanted: u64) -> Self {
        Self {
            start: Instant::now(),
            wanted,
            count: AtomicU64::new(0),
            first: OnceLock::new(),
            last: OnceLock::new(),
            done: Notify::new(),
        }
    }

    /// Records that a reconcile has ended.
    pub fn reconciled(&self) {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count == 1 {
            let _ = self.first.set(moment());
        }
        if count == self.wanted {
            let _ = self.last.set(moment());
            self.done.notify_one();
        }
    }

    /// Waits for the last reconcile and a second more, and reports the cost.
    pub async fn measure(&self, results: &mut Results) {
        self.done.notified().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        results.set("reconciles", self.count.load(Ordering::Relaxed) as f64);
        results.set("rss_drained", memory("VmRSS"));
        if let (Some(first), Some(last)) = (self.first.get(), self.last.get()) {
            let seconds = |since: Instant| last.0.duration_since(since).as_secs_f64();
            results.set("reconciled_seconds", seconds(self.start));
            results.set("drain_seconds", seconds(first.0));
            results.set("drain_cpu", last.1 - first.1);
            if let (Some(first), Some(last)) = (first.2, last.2) {
                results.set("allocations", (last.count - first.count) as f64);
                results.set("allocated", (last.bytes - first.bytes) as f64);
            }
        }
    }
}

fn moment() -> Moment {
    (Instant::now(), cpu(), Allocations::now())
}
