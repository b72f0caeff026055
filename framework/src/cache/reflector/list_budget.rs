use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::metrics::GaugeShare;

/// How many informers may read their whole collection at the same time.
///
/// After an outage every informer may need a list at once. Informers wait for the budget in the order in which they
/// ask, so that neither the server nor this process holds all those lists at the same time. An informer that has
/// waited for 30 s goes ahead, so that a list that hangs, or a listener that blocks, cannot stop the others. Clones
/// share the budget.
///
/// No informer has precedence: the size of a collection is known only after it was listed. An operator requests its
/// caches in the order of its controllers and of the lines of `wire`, so that the first of them sync first.
#[derive(Clone, Debug)]
pub struct ListBudget {
    permits: Arc<Semaphore>,
}

impl ListBudget {
    /// A list that has waited for this long goes ahead.
    const MAX_WAIT: Duration = Duration::from_secs(30);

    /// Allows `lists` lists at the same time, at least one.
    pub fn new(lists: usize) -> Self {
        let lists = lists.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(lists)),
        }
    }

    /// Waits for a permit; dropping the permit frees it. Dropping the future gives up the turn.
    pub(in crate::cache) async fn acquire(
        &self,
        waiting: GaugeShare,
    ) -> Option<OwnedSemaphorePermit> {
        waiting.set(1);
        let permit = timeout(Self::MAX_WAIT, self.permits.clone().acquire_owned()).await;
        // The semaphore is never closed.
        permit.ok()?.ok()
    }
}

/// Eight lists at the same time.
impl Default for ListBudget {
    fn default() -> Self {
        Self::new(8)
    }
}
