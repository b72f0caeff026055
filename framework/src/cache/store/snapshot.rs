use std::{borrow::Borrow, collections::HashSet, fmt, hash::Hash, sync::Arc};

use rpds::HashTrieMapSync;

use super::table::{BackBuffers, Table};
use crate::{
    cache::{
        Entry, IndexHandle,
        entry::IncomingObject,
        index::{AnyIndex, FilledIndex, OwnerIndex, OwnerUids},
    },
    resource::{Object, ObjectKey, Selector, Undecodable},
};

/// The objects of one kind after some batch of changes. A snapshot never changes.
///
/// Snapshots share everything that does not differ, so that a snapshot costs no copy, however many objects it holds.
/// The objects, the indexes and the [`resource_version`](Self::resource_version) of a snapshot are consistent with
/// each other.
///
/// Iterating copies nothing. The order is that of a hash table: no particular order, but the same each time the same
/// snapshot is iterated in the same way.
pub struct Snapshot<K> {
    // By namespace first (`""` for cluster-scoped objects): this is the index by namespace.
    namespaces: HashTrieMapSync<Arc<str>, Table<StoredEntry<K>>>,
    owners: OwnerIndex,
    // The indexes that users added.
    indexes: Vec<Arc<dyn AnyIndex<K>>>,
    resource_version: Option<Arc<str>>,
    len: usize,
    undecodable: usize,
}

/// What the snapshot holds for a key, and the owners by which the key is found.
pub(super) struct StoredEntry<K> {
    entry: Entry<K>,
    owners: OwnerUids,
}

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Self {
            namespaces: self.namespaces.clone(),
            owners: self.owners.clone(),
            indexes: self.indexes.clone(),
            resource_version: self.resource_version.clone(),
            len: self.len,
            undecodable: self.undecodable,
        }
    }
}

impl<K> Default for Snapshot<K> {
    fn default() -> Self {
        Self {
            namespaces: HashTrieMapSync::new_sync(),
            owners: OwnerIndex::default(),
            indexes: Vec::new(),
            resource_version: None,
            len: 0,
            undecodable: 0,
        }
    }
}

impl<K: Object> Snapshot<K> {
    /// Returns the object with the name `key`, or `None` if the cache does not have it.
    ///
    /// # Errors
    /// Returns what could be read of the object, with the reason, if the server has it but it does not decode as `K`.
    pub fn get(&self, key: &ObjectKey) -> Result<Option<Arc<K>>, Arc<Undecodable>> {
        self.entry(key).map(Entry::object).transpose()
    }

    /// What the snapshot holds for `key`.
    pub fn entry(&self, key: &ObjectKey) -> Option<&Entry<K>> {
        let stored = self.namespaces.get(namespace_of(key))?.get(key);
        stored.map(|stored| &stored.entry)
    }

    /// All objects, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        let namespaces = self.namespaces.values();
        entries(namespaces.flat_map(|objects| objects.iter()))
    }

    /// The objects in `namespace`, in no particular order; `""` means the cluster-scoped ones.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        let objects = self.namespaces.get(namespace).into_iter();
        entries(objects.flat_map(|objects| objects.iter()))
    }

    /// The objects with an owner reference to `uid`, controlling or not, in no particular order.
    pub fn by_owner(&self, uid: &str) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        self.with_entries(self.owners.keys(uid))
    }

    /// The objects that have `value` in `index`, in no particular order.
    ///
    /// If the cache does not have that index, because it belongs to another cache or was added after this snapshot,
    /// this looks at every object instead.
    pub fn by<'a, V, Q>(
        &'a self,
        index: &'a IndexHandle<K, V>,
        value: &'a Q,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Entry<K>)>
    where
        V: Borrow<Q> + Hash + Eq + Clone + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let filled = FilledIndex::find(&self.indexes, index);
        let looked_at = match filled {
            Some(_) => None,
            None => Some(self.iter().filter(|(_, entry)| index.finds(entry, value))),
        };
        let indexed = filled.map(|filled| self.with_entries(filled.keys(value)));
        let (indexed, looked_at) = (indexed.into_iter(), looked_at.into_iter());
        indexed.flatten().chain(looked_at.flatten())
    }

    /// The values that objects have in `index`, each once, in no particular order. Values of an object that does not
    /// decode are those of its last version that decoded.
    ///
    /// If the cache does not have that index, this looks at every object, as [`by`](Self::by) does.
    pub fn values<V>(&self, index: &IndexHandle<K, V>) -> Vec<V>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        if let Some(filled) = FilledIndex::find(&self.indexes, index) {
            return filled.values().cloned().collect();
        }
        let entries = self.iter().map(|(_, entry)| entry);
        let values: HashSet<V> = entries.flat_map(|entry| index.values_of(entry)).collect();
        values.into_iter().collect()
    }

    /// The objects whose labels match `selector`, in no particular order. Looks at every object; for a label that is
    /// queried often, [`Index::label`](crate::cache::Index::label) is faster. To select among fewer objects, filter
    /// them by [`Entry::matches`].
    pub fn select(&self, selector: &Selector) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        self.iter().filter(|(_, entry)| entry.matches(selector))
    }

    /// The number of objects, decodable or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of objects that do not decode, as far as the cache knew it at the time of the snapshot. An object that
    /// nobody has read counts as one that decodes.
    pub fn undecodable(&self) -> usize {
        self.undecodable
    }

    /// Resource version of the collection in this state. It follows every event, deletions and bookmarks included.
    /// Returns `None` before the first list is complete.
    pub fn resource_version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }

    pub(in crate::cache) fn set_resource_version(&mut self, resource_version: &str) {
        self.resource_version = Some(resource_version.into());
    }

    /// Stores `entry`, the form in which `version` is stored, under `key`. Returns what the snapshot held there
    /// before.
    pub(super) fn insert(
        &mut self,
        key: ObjectKey,
        version: &IncomingObject<'_, K>,
        entry: Entry<K>,
        buffers: Option<&mut BackBuffers<StoredEntry<K>>>,
    ) -> Option<Entry<K>> {
        self.each_index(|index| index.set(&key, version));
        self.undecodable += usize::from(entry.is_place());
        let owners = &mut self.owners;
        let stored = |key: &ObjectKey, old: Option<&StoredEntry<K>>| {
            let uids = version.owner_uids();
            let owners = match old {
                Some(old) => owners.replaced(key, &old.owners, uids),
                None => owners.insert(key, uids),
            };
            StoredEntry { entry, owners }
        };
        let namespace = namespace_of(&key);
        let old = match self.namespaces.get_mut(namespace) {
            Some(objects) => objects.put(key, stored, buffers),
            None => {
                let namespace: Arc<str> = namespace.into();
                let mut objects = Table::new(namespace.clone());
                objects.put(key, stored, buffers);
                self.namespaces.insert_mut(namespace, objects);
                None
            }
        };
        match &old {
            Some(old) => self.undecodable -= usize::from(old.value.entry.is_place()),
            None => self.len += 1,
        }
        old.map(|old| old.value.entry.clone())
    }

    pub(super) fn remove(
        &mut self,
        key: &ObjectKey,
        buffers: Option<&mut BackBuffers<StoredEntry<K>>>,
    ) -> Option<Entry<K>> {
        let namespace = namespace_of(key);
        // A key that is not there, or the last one, must not lead to copies.
        let objects = self.namespaces.get(namespace)?;
        let StoredEntry { entry, owners } = objects.get(key)?;
        let (entry, owners) = (entry.clone(), owners.clone());
        if objects.len() == 1 {
            self.namespaces.remove_mut(namespace);
            if let Some(buffers) = buffers {
                buffers.discard_table(namespace);
            }
        } else if let Some(objects) = self.namespaces.get_mut(namespace) {
            objects.remove(key, buffers);
        }
        self.owners.remove(key, &owners);
        self.each_index(|index| index.remove(key));
        self.len -= 1;
        self.undecodable -= usize::from(entry.is_place());
        Some(entry)
    }

    /// Puts `object` in the place of another version of it, for an [`Overlay`](super::Overlay).
    pub(crate) fn show(&mut self, object: Arc<K>) {
        let (key, entry) = (object.key(), Entry::from(object.clone()));
        let version = IncomingObject::Object(&*object);
        self.insert(key, &version, entry, None);
    }

    /// Takes the object of that name out, for an [`Overlay`](super::Overlay).
    pub(crate) fn hide(&mut self, key: &ObjectKey) {
        self.remove(key, None);
    }

    /// Adds an index and builds it from all objects.
    pub(in crate::cache) fn add_index(&mut self, mut index: Arc<dyn AnyIndex<K>>) {
        if let Some(index) = Arc::get_mut(&mut index) {
            for (key, entry) in self.iter() {
                entry.with_version(|version| index.set(key, version));
            }
        }
        self.indexes.push(index);
    }

    /// Whether an index needs the decoded object of each version.
    pub(in crate::cache) fn indexes_objects(&self) -> bool {
        self.indexes.iter().any(|index| index.reads_objects())
    }

    /// Drops the indexes without a handle.
    pub(super) fn drop_indexes(&mut self) {
        self.indexes.retain(|index| index.is_wanted());
    }

    fn each_index(&mut self, mut change: impl FnMut(&mut dyn AnyIndex<K>)) {
        for index in &mut self.indexes {
            // Readers may see this index, so it must not change. The rest of the batch changes the copy.
            if Arc::get_mut(index).is_none() {
                *index = index.fork();
            }
            if let Some(index) = Arc::get_mut(index) {
                change(index);
            }
        }
    }

    fn with_entries<'a>(
        &'a self,
        keys: impl Iterator<Item = &'a ObjectKey>,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Entry<K>)> {
        keys.filter_map(|key| self.entry(key).map(|entry| (key, entry)))
    }

    /// The number of owners by which objects are found.
    #[cfg(test)]
    pub(super) fn owner_count(&self) -> usize {
        self.owners.len()
    }

    /// The number of namespaces.
    #[cfg(test)]
    pub(super) fn namespace_count(&self) -> usize {
        self.namespaces.size()
    }

    #[cfg(test)]
    pub(in crate::cache) fn index_sizes(&self) -> Vec<(usize, usize, usize)> {
        self.indexes.iter().map(|index| index.sizes()).collect()
    }
}

fn entries<'a, K: 'a>(
    objects: impl Iterator<Item = (&'a ObjectKey, &'a StoredEntry<K>)>,
) -> impl Iterator<Item = (&'a ObjectKey, &'a Entry<K>)> {
    objects.map(|(key, stored)| (key, &stored.entry))
}

fn namespace_of(key: &ObjectKey) -> &str {
    key.namespace().unwrap_or_default()
}

/// Shows counts only: objects may hold secrets.
impl<K> fmt::Debug for Snapshot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("resource_version", &self.resource_version)
            .field("len", &self.len)
            .field("undecodable", &self.undecodable)
            .finish_non_exhaustive()
    }
}
