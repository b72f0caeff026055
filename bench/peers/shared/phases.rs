//! Counts reconciles of all objects in three phases: at first, after a change of each object, and after another change, when
//! each object is requeued for an hour later. The difference between the second and the third phase is the memory of
//! the requeues.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::sync::Notify;

use super::{allocations::Allocations, process::Results};

/// The delay of the requeue at the end.
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

    /// Records that a reconcile has ended. Returns whether the object is to be requeued for later.
    pub fn reconciled(&self) -> bool {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        if (before + 1).is_multiple_of(self.objects) {
            self.done.notify_one();
        }
        before >= 2 * self.objects
    }

    /// Goes through all phases and reports the memory in use. The harness tells the server to send the changes.
    pub async fn measure(&self, results: &mut Results) -> Result<(), String> {
        for name in ["first_bytes", "idle_bytes", "parked_bytes"] {
            self.done.notified().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            let now =
                Allocations::now().ok_or("the program must be built with the feature `count`")?;
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
