//! A lease is renewed through a client that has many watches open, of which some are not read.

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

/// Watches that are read, each by a cache of its own.
pub const READ: usize = 250;
/// Watches that are open and that nobody reads.
pub const UNREAD: usize = 50;

/// From one renewal to the next.
const EVERY: Duration = Duration::from_millis(20);
/// Until what is not read has filled what there is for it.
const FILL: Duration = Duration::from_secs(10);
/// No renewal takes so long.
const LIMIT: Duration = Duration::from_secs(60);

/// A selector that takes all, and that no other watch has.
pub fn selector(number: usize) -> String {
    format!("watch!=w{number}")
}

/// How many events each watch that is read was told of.
pub struct Seen(Vec<AtomicU64>);

impl Seen {
    pub fn new() -> Self {
        Self((0..READ).map(|_| AtomicU64::new(0)).collect())
    }

    /// A watch was told of an event.
    pub fn event(&self, watch: usize) {
        self.0[watch].fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> Vec<u64> {
        let counts = self.0.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// Renews while nothing else is asked of the client. To be called before there is a watch.
pub async fn alone<E: Error + 'static>(
    renew: impl AsyncFnMut(u64) -> Result<(), E>,
    results: &mut Results,
) -> Result<(), Box<dyn Error>> {
    let waits = renewals(renew).await?;
    results.set("alone_p50", waits.microseconds(0.5));
    results.set("alone_p99", waits.microseconds(0.99));
    Ok(())
}

/// Renews beside the watches, which are open. The harness has the server change objects from now on.
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

/// How long each took that the harness wants.
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
