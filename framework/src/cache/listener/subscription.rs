use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::watch;

use crate::cache::{Readiness, readiness::ReadyState};

/// Removes the listener with this mark from its informer.
pub(super) type Detach = dyn Fn(&Arc<AtomicBool>) + Send + Sync;

/// The handle of a listener. Dropping it does not remove the listener.
#[derive(Clone)]
pub struct Subscription {
    removed: Arc<AtomicBool>,
    /// The listener has the sender.
    alive: watch::Receiver<ReadyState>,
    readiness: Readiness,
    detach: Arc<Detach>,
}

impl Subscription {
    pub(in crate::cache) fn new(
        removed: Arc<AtomicBool>,
        alive: watch::Receiver<ReadyState>,
        readiness: Readiness,
        detach: Arc<Detach>,
    ) -> Self {
        Self {
            removed,
            alive,
            readiness,
            detach,
        }
    }

    /// Removes the listener, even if the returned future is dropped. The future resolves when no call of the listener
    /// is running or will begin, and its function was dropped. At most one call begins after `remove` returned.
    ///
    /// A second call only waits. After the informer stopped, the future resolves at once. A listener that waits for
    /// its own removal waits forever.
    pub fn remove(&self) -> impl Future<Output = ()> + Send + use<> {
        self.removed.store(true, Ordering::Release);
        (self.detach)(&self.removed);
        let mut alive = self.alive.clone();
        async move {
            // The listener has the sender: an error means that the listener was dropped.
            while alive.changed().await.is_ok() {}
        }
    }

    /// Waits until all objects of the first list (or, for a late listener, all objects that the cache had when it was
    /// added) were delivered. Returns `false` if the listener was removed, or the informer stopped, before that. Any
    /// number of tasks can wait.
    pub async fn synced(&self) -> bool {
        self.readiness.wait().await
    }

    /// The same as a value that can be combined with others.
    pub fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("removed", &self.removed)
            .field("readiness", &self.readiness)
            .finish_non_exhaustive()
    }
}
