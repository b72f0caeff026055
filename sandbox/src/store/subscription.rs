use std::sync::Arc;

use tokio::sync::watch;

use super::bucket::LastChanges;
use super::{Change, Compacted, Store};
use crate::registry::GroupResource;

/// A position in the history of one kind.
pub(crate) struct Subscription {
    store: Arc<Store>,
    resource: GroupResource,
    position: u64,
    changed: watch::Receiver<LastChanges>,
}

/// Changes in order.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) changes: Vec<Arc<Change>>,
    /// Every change up to this resource version has been delivered.
    pub(crate) version: u64,
}

/// The most changes in one batch.
const BATCH: usize = 256;

impl Subscription {
    pub(super) fn new(
        store: Arc<Store>,
        resource: GroupResource,
        position: u64,
        changed: watch::Receiver<LastChanges>,
    ) -> Self {
        Self {
            store,
            resource,
            position,
            changed,
        }
    }

    /// As [`take_until`](Self::take_until), without a last resource version.
    ///
    /// # Errors
    /// [`Compacted`] if the reader came too late.
    pub(crate) fn take(&mut self) -> Option<Result<Batch, Compacted>> {
        self.take_until(None)
    }

    /// The changes since the last call up to a resource version, possibly none. Returns `None` after the last change of a kind that is no longer
    /// served.
    ///
    /// # Errors
    /// [`Compacted`] if the reader came too late.
    pub(crate) fn take_until(&mut self, until: Option<u64>) -> Option<Result<Batch, Compacted>> {
        // Mark as seen first: a change in between then wakes the reader once too often and never too rarely.
        self.changed.borrow_and_update();
        let batch = self
            .store
            .since(&self.resource, &self.changed, self.position, until, BATCH);
        let Some(batch) = batch else {
            return self.rest().map(Ok);
        };
        if let Ok(batch) = &batch {
            self.position = self.position.max(batch.version);
        }
        Some(batch)
    }

    /// The last changes of a kind that is no longer served.
    fn rest(&mut self) -> Option<Batch> {
        let left = self.changed.borrow().clone()?;
        let later = left.iter().filter(|change| change.version > self.position);
        let changes: Vec<Arc<Change>> = later.take(BATCH).cloned().collect();
        let version = changes.last()?.version;
        self.position = version;
        Some(Batch { changes, version })
    }

    /// Takes the changes so far as seen, without a look at them.
    pub(crate) fn mark_seen(&mut self) {
        self.changed.mark_unchanged();
    }

    /// Whether there may be changes since the last call of [`take`](Self::take) or [`mark_seen`](Self::mark_seen).
    pub(crate) fn has_changed(&self) -> bool {
        // An error says that the kind is no longer served.
        self.changed.has_changed().unwrap_or(true)
    }

    /// Waits for the next change. Returns `false` once the kind is no longer served.
    pub(crate) async fn changed(&mut self) -> bool {
        self.changed.changed().await.is_ok()
    }
}
