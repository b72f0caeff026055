use std::{hash::Hash, sync::Arc};

use super::Snapshot;
use crate::{
    cache::{
        Index, IndexHandle,
        index::{AnyIndex, FilledIndex},
        sync::{ArcSwap, Guard, Mutex},
    },
    resource::Object,
};

/// What the writer and the readers of a store share: the state to read, and the indexes that the writer will add.
pub(super) struct PublishedState<K> {
    snapshot: ArcSwap<Snapshot<K>>,
    /// No foreign code runs under this lock, so that the value is consistent after a panic.
    new_indexes: Mutex<Vec<Arc<dyn AnyIndex<K>>>>,
}

impl<K> PublishedState<K> {
    /// The present state, for a short read: the guard must not be held for long.
    pub(super) fn snapshot(&self) -> Guard<Arc<Snapshot<K>>> {
        self.snapshot.load()
    }

    /// The present state, for a caller that keeps it.
    pub(super) fn snapshot_arc(&self) -> Arc<Snapshot<K>> {
        self.snapshot.load_full()
    }

    pub(super) fn publish(&self, snapshot: Snapshot<K>) {
        self.snapshot.store(Arc::new(snapshot));
    }

    pub(super) fn has_new_indexes(&self) -> bool {
        !self.new_indexes.lock().is_empty()
    }

    pub(super) fn take_indexes(&self) -> Vec<Arc<dyn AnyIndex<K>>> {
        std::mem::take(&mut self.new_indexes.lock())
    }
}

impl<K: Object> PublishedState<K> {
    pub(super) fn add_index<V>(&self, index: Index<K, V>) -> IndexHandle<K, V>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        let definition = index.into_definition();
        let mut new = self.new_indexes.lock();
        // If the writer has ended, nobody takes the indexes: those without a handle must not pile up.
        new.retain(|index| index.is_wanted());
        new.push(Arc::new(FilledIndex::new(&definition)));
        drop(new);
        IndexHandle::new(definition)
    }
}

impl<K> Default for PublishedState<K> {
    fn default() -> Self {
        Self {
            snapshot: ArcSwap::default(),
            new_indexes: Mutex::default(),
        }
    }
}
