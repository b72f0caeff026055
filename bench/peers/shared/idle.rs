//! Measures a process with many caches while nothing changes.

use std::time::Duration;

use super::process::{Results, all_sleeps, cpu, memory, setting};

/// The number of caches.
pub const CACHES: usize = 200;

/// The time until everything that followed the syncs has ended.
const SETTLE: Duration = Duration::from_secs(3);

/// Records the memory with one object, a second after the first cache was filled.
pub async fn one(results: &mut Results) {
    tokio::time::sleep(Duration::from_secs(1)).await;
    results.set("rss_one", memory("VmRSS"));
}

/// Watches the process for as many seconds as the harness wants. Must be called when all caches are full.
pub async fn measure(results: &mut Results) {
    tokio::time::sleep(SETTLE).await;
    let seconds = setting("BENCH_EVENTS");
    let (slept, used) = (all_sleeps(), cpu());
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    results.set("idle_wakeups", all_sleeps() - slept);
    results.set("idle_cpu", cpu() - used);
    results.set("idle_seconds", seconds as f64);
    results.set("rss_idle", memory("VmRSS"));
    results.set("caches", CACHES as f64);
}
