use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::metrics::Share;

/// How many informers may read their whole collection at the same time.
///
/// After an outage every informer may need a list at once. Here they stand in line, in the order of
/// their asking, so that neither the server nor this process has to hold all of them together. Whoever
/// waited for 30 s goes ahead: a list that hangs, or a listener that stands still, holds up nobody for
/// good. Cloning shares the budget.
///
/// Nobody has a higher place: how large a collection is can be known only after it was listed, and an operator asks
/// for its caches in the order of its controllers and of the lines of `wire`, so that the first of them sync first.
#[derive(Clone, Debug)]
pub struct ListBudget {
    places: Arc<Semaphore>,
}

impl ListBudget {
    /// After so long a list does not wait any more.
    const PATIENCE: Duration = Duration::from_secs(30);

    /// So many at the same time, at least one.
    pub fn new(lists: usize) -> Self {
        let lists = lists.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            places: Arc::new(Semaphore::new(lists)),
        }
    }

    /// Waits for a place; it is free again when what this gives is dropped. Dropping the future gives up
    /// the place in the line.
    pub(super) async fn enter(&self, waiting: Share) -> Option<OwnedSemaphorePermit> {
        waiting.set(1);
        let place = timeout(Self::PATIENCE, self.places.clone().acquire_owned()).await;
        // It is never closed.
        place.ok()?.ok()
    }
}

/// Eight at the same time.
impl Default for ListBudget {
    fn default() -> Self {
        Self::new(8)
    }
}
