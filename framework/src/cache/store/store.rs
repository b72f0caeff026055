use std::{hash::Hash, sync::Arc};

use super::{
    Lister, Snapshot, published::PublishedState, snapshot::StoredEntry, table::BackBuffers,
};
use crate::{
    cache::{Entry, Index, IndexHandle, Packing, entry::IncomingObject},
    resource::{Object, ObjectKey, Undecodable},
};

/// The writer's side of a cache. Nothing else changes the cache.
///
/// Changes go to a working copy, which shares everything unchanged with the state that readers see.
/// [`publish`](Self::publish) shows them all at once. The writer and the readers never wait for each other. There is
/// one writer, by `&mut`, and any number of [`Lister`]s.
pub struct Store<K> {
    working: Snapshot<K>,
    buffers: BackBuffers<StoredEntry<K>>,
    published: Arc<PublishedState<K>>,
    packing: Option<Box<dyn Packing<K>>>,
}

impl<K: Object> Store<K> {
    /// An empty store that keeps objects in the form in which they are inserted.
    pub fn new() -> Self {
        Self {
            working: Snapshot::default(),
            buffers: BackBuffers::default(),
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

    /// A reader of the published state.
    pub fn lister(&self) -> Lister<K> {
        Lister::new(self.published.clone())
    }

    /// What the store holds for `key`, unpublished changes included.
    pub fn get(&self, key: &ObjectKey) -> Option<&Entry<K>> {
        self.working.entry(key)
    }

    /// The state with all unpublished changes.
    pub fn working(&self) -> &Snapshot<K> {
        &self.working
    }

    /// Stores `object` under `key`. Returns what the store held there before.
    pub fn insert(&mut self, key: ObjectKey, object: Arc<K>) -> Option<Entry<K>> {
        self.insert_entry(key, object.into())
    }

    /// As [`insert`](Self::insert), for an object that may not be decoded.
    pub(in crate::cache) fn insert_entry(
        &mut self,
        key: ObjectKey,
        entry: Entry<K>,
    ) -> Option<Entry<K>> {
        let packing = self.packing.as_ref().zip(entry.stored_object());
        let packed = packing.and_then(|(packing, object)| packing.pack(object));
        let stored = match packed {
            Some(packed) => Entry::packed(packed),
            None => entry.clone(),
        };
        let (working, buffers) = (&mut self.working, Some(&mut self.buffers));
        entry.with_version(|version| working.insert(key, version, stored, buffers))
    }

    /// Stores the place of an object that does not decode, with the `last` version that decoded. Returns what the
    /// store held there before.
    pub fn insert_undecodable(
        &mut self,
        object: Arc<Undecodable>,
        last: Option<Arc<K>>,
    ) -> Option<Entry<K>> {
        let entry = Entry::of_undecodable(object.clone(), last.clone());
        let version = IncomingObject::Undecodable {
            object: &object,
            last: last.as_deref(),
        };
        let key = object.key.clone();
        let buffers = Some(&mut self.buffers);
        self.working.insert(key, &version, entry, buffers)
    }

    /// Removes what the store holds for `key`, and returns it.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Entry<K>> {
        self.working.remove(key, Some(&mut self.buffers))
    }

    /// Adds an index. The next [`publish`](Self::publish) builds it.
    pub fn add_index<V>(&self, index: Index<K, V>) -> IndexHandle<K, V>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        self.published.add_index(index)
    }

    /// Sets the resource version of the collection.
    pub fn set_resource_version(&mut self, resource_version: &str) {
        self.working.set_resource_version(resource_version);
    }

    /// Shows readers all changes since the last call, and builds the indexes that were added since.
    pub fn publish(&mut self) {
        self.working.drop_indexes();
        for index in self.published.take_indexes() {
            self.working.add_index(index);
        }
        self.published.publish(self.working.clone());
        self.buffers.apply_pending();
    }

    #[cfg(test)]
    pub(super) fn back_buffer_count(&self) -> usize {
        self.buffers.sizes().0
    }

    /// How many indexes are not built yet.
    #[cfg(test)]
    pub(in crate::cache) fn new_indexes(&self) -> usize {
        self.published.take_indexes().len()
    }

    /// Publishes if indexes were added since the last [`publish`](Self::publish).
    pub(in crate::cache) fn take_in_indexes(&mut self) {
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
