//! How long a reconcile waits for its event.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::{
    histogram::Histogram,
    process::{Results, cpu, now},
};

/// No event takes so long.
const LIMIT: Duration = Duration::from_secs(10);

/// The stamps that reconciles have seen, and how old each was when it was seen first.
pub struct Stamps {
    wanted: usize,
    seen: Mutex<HashMap<u64, u64>>,
    more: Notify,
}

impl Stamps {
    pub fn new(wanted: u64) -> Self {
        Self {
            wanted: wanted as usize,
            seen: Mutex::default(),
            more: Notify::new(),
        }
    }

    /// A reconcile has an object with this annotation.
    pub fn reconciled(&self, stamp: &str) {
        let now = now();
        let Ok(stamp) = stamp.parse() else {
            panic!("a stamp that is no number: {stamp}");
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(stamp).or_insert(now.saturating_sub(stamp));
        self.more.notify_one();
    }

    /// Waits until all were seen, or none came for long; tells what it took. To be called before the first comes.
    pub async fn measure(&self, results: &mut Results) {
        let before = cpu();
        while self.count() < self.wanted
            && tokio::time::timeout(LIMIT, self.more.notified())
                .await
                .is_ok()
        {}
        results.set("latency_cpu", cpu() - before);
        let mut waits = Histogram::default();
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.values().for_each(|wait| waits.add(*wait));
        results.set("stamps", seen.len() as f64);
        results.set("latency_p50", waits.microseconds(0.5));
        results.set("latency_p99", waits.microseconds(0.99));
        results.set("latency_max", waits.microseconds(1.0));
    }

    fn count(&self) -> usize {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}
