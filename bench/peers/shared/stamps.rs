//! Measures the time from an event to its reconcile.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::{
    histogram::Histogram,
    process::{Results, cpu, now},
};

/// The longest wait for an event.
const LIMIT: Duration = Duration::from_secs(10);

/// The interval at which `measure` looks at the number of stamps.
const LOOK: Duration = Duration::from_millis(100);

/// The stamps that reconciles have seen, and the age of each when it was first seen.
pub struct Stamps {
    wanted: usize,
    seen: Mutex<HashMap<u64, u64>>,
}

impl Stamps {
    pub fn new(wanted: u64) -> Self {
        Self {
            wanted: wanted as usize,
            seen: Mutex::default(),
        }
    }

    /// Records that a reconcile has an object with this annotation.
    pub fn reconciled(&self, stamp: &str) {
        let now = now();
        let Ok(stamp) = stamp.parse() else {
            panic!("the stamp is not a number: {stamp}");
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(stamp).or_insert(now.saturating_sub(stamp));
    }

    /// Waits until all stamps were seen or none came for long, and reports the ages. Must be called before the first event.
    pub async fn measure(&self, results: &mut Results) {
        let before = cpu();
        let (mut count, mut idle) = (0, Duration::ZERO);
        while count < self.wanted && idle < LIMIT {
            // Poll with a sleep: a task that each reconcile wakes would add to the measured time.
            tokio::time::sleep(LOOK).await;
            let now = self.count();
            idle = if now > count {
                Duration::ZERO
            } else {
                idle + LOOK
            };
            count = now;
        }
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
