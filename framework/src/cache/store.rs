use std::{hash::Hash, sync::Arc};

use super::{
    Entry, Index, IndexHandle, Lister, Packing, Snapshot, incoming::Incoming, published::Published,
};
use crate::resource::{Object, ObjectKey, Undecodable};

/// The writer's side of a cache: the one place that changes it.
///
/// Changes gather in a working copy that shares everything unchanged with what readers see;
/// [`publish`](Self::publish) shows them all at once. Neither side ever waits for the other.
/// There is one writer, by `&mut`; any number of [`Lister`]s read.
pub struct Store<K> {
    working: Snapshot<K>,
    published: Arc<Published<K>>,
    packing: Option<Box<dyn Packing<K>>>,
}

impl<K: Object> Store<K> {
    /// An empty store that keeps objects as they were decoded.
    pub fn new() -> Self {
        Self {
            working: Snapshot::default(),
            published: Arc::default(),
            packing: None,
        }
    }

    /// An empty store that keeps objects in the form that `packing` gives them.
    pub fn packed(packing: impl Packing<K>) -> Self {
        Self {
            packing: Some(Box::new(packing)),
            ..Self::new()
        }
    }

    /// A reader of what was published.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.published.clone())
    }

    /// What is held for `key`, unpublished changes included.
    pub fn get(&self, key: &ObjectKey) -> Option<&Entry<K>> {
        self.working.entry(key)
    }

    /// The state with all unpublished changes.
    pub fn working(&self) -> &Snapshot<K> {
        &self.working
    }

    /// Puts `object` in the place of what is held for `key`, and gives that back.
    pub fn insert(&mut self, key: ObjectKey, object: Arc<K>) -> Option<Entry<K>> {
        let packed = self.packing.as_ref().and_then(|by| by.pack(&object));
        let entry = match packed {
            Some(packed) => Entry::packed(packed),
            None => Entry::decoded(object.clone()),
        };
        self.working.insert(key, &Incoming::Object(&object), entry)
    }

    /// Keeps the place of an object that does not decode, with the `last` version that did, and
    /// gives back what was held there.
    pub fn insert_undecodable(
        &mut self,
        object: Arc<Undecodable>,
        last: Option<Arc<K>>,
    ) -> Option<Entry<K>> {
        let entry = Entry::of_undecodable(object.clone(), last.clone());
        let version = Incoming::Undecodable {
            object: &object,
            last: last.as_deref(),
        };
        self.working.insert(object.key.clone(), &version, entry)
    }

    /// Removes what is held for `key`, and gives it back.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Entry<K>> {
        self.working.remove(key)
    }

    /// Adds an index, to be filled when changes are [published](Self::publish) next.
    pub fn add_index<V>(&self, index: Index<K, V>) -> IndexHandle<K, V>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        self.published.add_index(index)
    }

    /// Notes the resource version of the collection.
    pub fn set_resource_version(&mut self, resource_version: &str) {
        self.working.set_resource_version(resource_version);
    }

    /// Shows all changes since the last call to the readers, and takes in the indexes that were
    /// added since.
    pub fn publish(&mut self) {
        self.working.drop_indexes();
        for index in self.published.take_indexes() {
            self.working.add_index(index);
        }
        self.published.show(self.working.clone());
    }

    /// How many indexes wait to be taken in.
    #[cfg(test)]
    pub(super) fn new_indexes(&self) -> usize {
        self.published.take_indexes().len()
    }

    /// Takes in the indexes that were added since the last [`publish`](Self::publish), if any, and
    /// publishes.
    pub(super) fn take_in_indexes(&mut self) {
        if self.published.has_new_indexes() {
            self.publish();
        }
    }
}

impl<K: Object> Default for Store<K> {
    fn default() -> Self {
        Self::new()
    }
}
