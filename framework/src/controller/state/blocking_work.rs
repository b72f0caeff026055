use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use crate::resource::ObjectKey;

/// The blocking closures of all calls of a controller: how many may run at once, and which still run.
#[derive(Debug)]
pub(crate) struct BlockingWork {
    permits: Arc<Semaphore>,
    running: TaskTracker,
    /// The keys of the running closures.
    keys: Arc<Mutex<Vec<ObjectKey>>>,
}

/// A place for one closure, until it is dropped.
#[derive(Debug)]
pub(crate) struct BlockingSlot {
    pub(crate) key: ObjectKey,
    keys: Arc<Mutex<Vec<ObjectKey>>>,
    /// `None` is not possible: the semaphore is never closed.
    _permit: Option<OwnedSemaphorePermit>,
    _running: TaskTrackerToken,
}

impl BlockingWork {
    /// The largest number of closures of one controller at once. Tokio's pool has 512 threads, which files and lookups of
    /// names need too.
    const MOST: usize = 128;

    /// At most one closure at once for each of `concurrency` workers.
    pub(crate) fn new(concurrency: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(concurrency.clamp(1, Self::MOST))),
            running: TaskTracker::new(),
            keys: Arc::default(),
        }
    }

    /// Waits until another closure may run. It belongs to a call for `key`.
    pub(crate) async fn slot(&self, key: &ObjectKey) -> BlockingSlot {
        let permit = self.permits.clone().acquire_owned().await.ok();
        self.keys.lock().push(key.clone());
        BlockingSlot {
            key: key.clone(),
            keys: self.keys.clone(),
            _permit: permit,
            _running: self.running.token(),
        }
    }

    /// The keys of the running closures.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        self.keys.lock().clone()
    }

    /// Waits until no closure runs. The caller has to see to it that no call begins another one.
    pub(crate) async fn ended(&self) {
        self.running.close();
        self.running.wait().await;
    }
}

impl Drop for BlockingSlot {
    fn drop(&mut self) {
        let mut keys = self.keys.lock();
        if let Some(place) = keys.iter().position(|key| *key == self.key) {
            keys.swap_remove(place);
        }
    }
}
