//! Renews a Lease through a client that has many watches open. It does not read some of them.

use std::{
    error::Error,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::{
    histogram::Histogram,
    process::{Results, setting},
};

/// The number of watches that caches read, one cache each.
pub const READ: usize = 250;
/// The number of open watches that are never read.
pub const UNREAD: usize = 50;

/// The time from one renewal to the next.
const EVERY: Duration = Duration::from_millis(20);
/// The time until unread events have filled their buffers.
const FILL: Duration = Duration::from_secs(10);
/// The time limit of a renewal.
const LIMIT: Duration = Duration::from_secs(60);

/// Returns a selector that matches all Pods and is different for each watch.
pub fn selector(number: usize) -> String {
    format!("watch!=w{number}")
}

/// The number of events that each read watch received.
pub struct Seen(Vec<AtomicU64>);

impl Seen {
    pub fn new() -> Self {
        Self((0..READ).map(|_| AtomicU64::new(0)).collect())
    }

    /// Records an event of a watch.
    pub fn event(&self, watch: usize) {
        self.0[watch].fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> Vec<u64> {
        let counts = self.0.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// Renews while the client has no other requests. Must be called before the watches are opened.
pub async fn alone<E: Error + 'static>(
    renew: impl AsyncFnMut(u64) -> Result<(), E>,
    results: &mut Results,
) -> Result<(), Box<dyn Error>> {
    let waits = renewals(renew).await?;
    results.set("alone_p50", waits.microseconds(0.5));
    results.set("alone_p99", waits.microseconds(0.99));
    Ok(())
}

/// Renews beside the open watches. From now on the harness makes the server change objects.
pub async fn beside<E: Error + 'static>(
    renew: impl AsyncFnMut(u64) -> Result<(), E>,
    seen: &Seen,
    results: &mut Results,
) -> Result<(), Box<dyn Error>> {
    println!("synced");
    sleep(FILL).await;
    let before = seen.counts();
    let waits = renewals(renew).await?;
    let after = seen.counts();
    let told = before.iter().zip(&after);
    let told = told.filter(|(before, after)| before < after).count();
    results.set("watches", told as f64);
    results.set("renewals", waits.count() as f64);
    results.set("renewal_p50", waits.microseconds(0.5));
    results.set("renewal_p99", waits.microseconds(0.99));
    results.set("renewal_max", waits.microseconds(1.0));
    Ok(())
}

/// Sends the renewals that the harness wants and returns their durations.
async fn renewals<E: Error + 'static>(
    mut renew: impl AsyncFnMut(u64) -> Result<(), E>,
) -> Result<Histogram, Box<dyn Error>> {
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut waits = Histogram::default();
    for count in 0..setting("BENCH_EVENTS") {
        tick.tick().await;
        let start = Instant::now();
        let renewed = timeout(LIMIT, renew(count)).await;
        renewed.map_err(|_| format!("renewal {count} was not answered in {LIMIT:?}"))??;
        waits.add(start.elapsed().as_nanos() as u64);
    }
    Ok(waits)
}
