use std::sync::Arc;

use tokio::sync::watch;

use super::bucket::Farewell;
use super::{Change, Compacted, Store};
use crate::registry::GroupResource;

/// A place in the history of one kind.
pub(crate) struct Subscription {
    store: Arc<Store>,
    resource: GroupResource,
    position: u64,
    changed: watch::Receiver<Farewell>,
}

/// Changes in order.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) changes: Vec<Change>,
    /// Every change up to this resource version has been delivered by now.
    pub(crate) version: u64,
}

/// How many changes are taken at once.
const BATCH: usize = 256;

impl Subscription {
    pub(super) fn new(
        store: Arc<Store>,
        resource: GroupResource,
        position: u64,
        changed: watch::Receiver<Farewell>,
    ) -> Self {
        Self {
            store,
            resource,
            position,
            changed,
        }
    }

    /// The changes since the last call, perhaps none. `None` once the kind is no longer served and its last change was taken.
    ///
    /// # Errors
    /// [`Compacted`] if the reader came too late.
    pub(crate) fn take(&mut self) -> Option<Result<Batch, Compacted>> {
        // Mark as seen first: a change in between then wakes once too often, and never once too little.
        self.changed.borrow_and_update();
        let batch = self
            .store
            .since(&self.resource, &self.changed, self.position, BATCH);
        let Some(batch) = batch else {
            return self.rest().map(Ok);
        };
        if let Ok(batch) = &batch {
            self.position = self.position.max(batch.version);
        }
        Some(batch)
    }

    /// What the kind left when it ceased to be served.
    fn rest(&mut self) -> Option<Batch> {
        let left = self.changed.borrow().clone()?;
        let later = left.iter().filter(|change| change.version > self.position);
        let changes: Vec<Change> = later.take(BATCH).cloned().collect();
        let version = changes.last()?.version;
        self.position = version;
        Some(Batch { changes, version })
    }

    /// Waits for the next change. `false` once the kind is no longer served.
    pub(crate) async fn changed(&mut self) -> bool {
        self.changed.changed().await.is_ok()
    }
}
