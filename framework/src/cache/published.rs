use std::{
    hash::Hash,
    sync::{Arc, PoisonError},
};

use super::{
    Index, IndexHandle, Snapshot,
    index::{AnyIndex, Filled},
    sync::{ArcSwap, Guard, Mutex, MutexGuard},
};
use crate::resource::Object;

/// What a store's writer and its readers share: the state to be read, and the indexes that the
/// writer is to take in.
pub(super) struct Published<K> {
    snapshot: ArcSwap<Snapshot<K>>,
    new_indexes: Mutex<Vec<Arc<dyn AnyIndex<K>>>>,
}

impl<K> Published<K> {
    pub(super) fn snapshot(&self) -> Guard<Arc<Snapshot<K>>> {
        self.snapshot.load()
    }

    pub(super) fn snapshot_to_keep(&self) -> Arc<Snapshot<K>> {
        self.snapshot.load_full()
    }

    pub(super) fn show(&self, snapshot: Snapshot<K>) {
        self.snapshot.store(Arc::new(snapshot));
    }

    pub(super) fn has_new_indexes(&self) -> bool {
        !self.new_indexes().is_empty()
    }

    pub(super) fn take_indexes(&self) -> Vec<Arc<dyn AnyIndex<K>>> {
        std::mem::take(&mut self.new_indexes())
    }

    fn new_indexes(&self) -> MutexGuard<'_, Vec<Arc<dyn AnyIndex<K>>>> {
        // No code of others runs under the lock; what a panic left behind is whole.
        let indexes = &self.new_indexes;
        indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Object> Published<K> {
    pub(super) fn add_index<V>(&self, index: Index<K, V>) -> IndexHandle<K, V>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        let definition = index.into_definition();
        let mut new = self.new_indexes();
        // A writer that has ended takes none in: those without a handle are not to gather.
        new.retain(|index| index.is_wanted());
        new.push(Arc::new(Filled::new(&definition)));
        drop(new);
        IndexHandle::new(definition)
    }
}

impl<K> Default for Published<K> {
    fn default() -> Self {
        Self {
            snapshot: ArcSwap::default(),
            new_indexes: Mutex::default(),
        }
    }
}
