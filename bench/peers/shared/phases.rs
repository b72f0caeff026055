//! All objects are reconciled, three times: first, after a change of each, and after another one, when all are to be
//! reconciled again in an hour. What that keeps in memory is the difference between the second and the third.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::sync::Notify;

use super::{allocations::Allocations, process::Results};

/// How long all are parked in the end.
pub const LATER: Duration = Duration::from_secs(3600);

/// Counts reconciles.
pub struct Phases {
    objects: u64,
    count: AtomicU64,
    done: Notify,
}

impl Phases {
    pub fn new(objects: u64) -> Self {
        Self {
            objects,
            count: AtomicU64::new(0),
            done: Notify::new(),
        }
    }

    /// A reconcile has come to its end: whether its object is to be reconciled again later.
    pub fn reconciled(&self) -> bool {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        if (before + 1).is_multiple_of(self.objects) {
            self.done.notify_one();
        }
        before >= 2 * self.objects
    }

    /// Goes through all, and tells what was in use. The harness asks the server for the changes.
    pub async fn measure(&self, results: &mut Results) -> Result<(), String> {
        for name in ["first_bytes", "idle_bytes", "parked_bytes"] {
            self.done.notified().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            let now = Allocations::now().ok_or("build it with the feature count")?;
            if name != "first_bytes" {
                results.set(name, now.live as f64);
            }
            if name != "parked_bytes" {
                println!("synced");
            }
        }
        results.set("objects", self.objects as f64);
        results.set("reconciles", self.count.load(Ordering::Relaxed) as f64);
        Ok(())
    }
}
