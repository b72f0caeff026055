use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::watch;

use super::{Readiness, readiness::Ready};

/// Takes the listener with that mark out of its informer.
pub(super) type Detach = dyn Fn(&Arc<AtomicBool>) + Send + Sync;

/// A listener's place at an informer. Dropping it leaves the listener where it is.
#[derive(Clone)]
pub struct Subscription {
    removed: Arc<AtomicBool>,
    /// Its sender is the listener's.
    alive: watch::Receiver<Ready>,
    readiness: Readiness,
    detach: Arc<Detach>,
}

impl Subscription {
    pub(super) fn new(
        removed: Arc<AtomicBool>,
        alive: watch::Receiver<Ready>,
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

    /// Removes the listener, also if the future is dropped. The future resolves when no call of the
    /// listener runs or will run any more, and its function was dropped. At most one call begins
    /// after `remove` returned.
    ///
    /// Removing twice is nothing but waiting. After the informer stopped it resolves at once. A
    /// listener that waits for its own removal waits for ever.
    pub fn remove(&self) -> impl Future<Output = ()> + Send + use<> {
        self.removed.store(true, Ordering::Release);
        (self.detach)(&self.removed);
        let mut alive = self.alive.clone();
        async move {
            // The listener holds the sender: an error says that it was dropped.
            while alive.changed().await.is_ok() {}
        }
    }

    /// Waits until the listener has heard of all that the first list held (a late one: of all
    /// that the cache held when it was added). `false` if it was removed, or the informer
    /// stopped, before that. Any number may wait.
    pub async fn synced(&self) -> bool {
        self.readiness.wait().await
    }

    /// The same, to be had together with others.
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
