use std::{borrow::Borrow, fmt, hash::Hash, sync::Arc};

use rpds::HashTrieMapSync;

use super::{
    Entry, IndexHandle,
    incoming::Incoming,
    index::{AnyIndex, Filled},
    owners::{OwnerUids, Owners},
};
use crate::resource::{Object, ObjectKey, Selector, Undecodable};

/// The objects of one kind as they stood after some batch of changes; it never changes.
///
/// Snapshots share all but what differs, so one costs no copy, however many objects it holds.
/// Within a snapshot everything fits together: objects, indexes and
/// [`resource_version`](Self::resource_version).
///
/// Nothing is copied to iterate over it. The order is that of a hash table: none in particular, but the
/// same each time the same snapshot is iterated over in the same way.
pub struct Snapshot<K> {
    // By namespace first (`""` for cluster-scoped objects): this is the namespace index.
    namespaces: HashTrieMapSync<Arc<str>, HashTrieMapSync<ObjectKey, Placed<K>>>,
    owners: Owners,
    // Those that users added.
    indexes: Vec<Arc<dyn AnyIndex<K>>>,
    resource_version: Option<Arc<str>>,
    len: usize,
    undecodable: usize,
}

/// What is held for a key, and the owners that it is found by.
struct Placed<K> {
    entry: Entry<K>,
    owners: OwnerUids,
}

impl<K> Clone for Placed<K> {
    fn clone(&self) -> Self {
        Self {
            entry: self.entry.clone(),
            owners: self.owners.clone(),
        }
    }
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
            owners: Owners::default(),
            indexes: Vec::new(),
            resource_version: None,
            len: 0,
            undecodable: 0,
        }
    }
}

impl<K: Object> Snapshot<K> {
    /// The object named `key`; `None` if there is none.
    ///
    /// # Errors
    /// The server has such an object, but it does not fit `K`.
    pub fn get(&self, key: &ObjectKey) -> Result<Option<Arc<K>>, Arc<Undecodable>> {
        self.entry(key).map(Entry::object).transpose()
    }

    /// What is held for `key`.
    pub fn entry(&self, key: &ObjectKey) -> Option<&Entry<K>> {
        let placed = self.namespaces.get(namespace_of(key))?.get(key);
        placed.map(|placed| &placed.entry)
    }

    /// All objects, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        let namespaces = self.namespaces.values();
        entries(namespaces.flat_map(|objects| objects.iter()))
    }

    /// The objects in `namespace`, in no particular order; `""` stands for cluster-scoped ones.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        let objects = self.namespaces.get(namespace).into_iter();
        entries(objects.flat_map(|objects| objects.iter()))
    }

    /// The objects with an owner reference, controlling or not, to `uid`, in no particular order.
    pub fn by_owner(&self, uid: &str) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        self.with_entries(self.owners.keys(uid))
    }

    /// The objects that bear `value` in `index`, in no particular order.
    ///
    /// If the cache does not have that index, because it is another's or was added after this
    /// snapshot was taken, every object is looked at instead.
    pub fn by<'a, V, Q>(
        &'a self,
        index: &'a IndexHandle<K, V>,
        value: &'a Q,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Entry<K>)>
    where
        V: Borrow<Q> + Hash + Eq + Clone + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        let filled = Filled::find(&self.indexes, index);
        let looked_at = match filled {
            Some(_) => None,
            None => Some(self.iter().filter(|(_, entry)| index.finds(entry, value))),
        };
        let indexed = filled.map(|filled| self.with_entries(filled.keys(value)));
        let (indexed, looked_at) = (indexed.into_iter(), looked_at.into_iter());
        indexed.flatten().chain(looked_at.flatten())
    }

    /// The objects whose labels are those that `selector` means, in no particular order. Every
    /// object is looked at; [`Index::label`](super::Index::label) is quicker for a label that is
    /// asked for often. Within less than all objects, filter them by [`Entry::matches`].
    pub fn select(&self, selector: &Selector) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        self.iter().filter(|(_, entry)| entry.matches(selector))
    }

    /// How many objects there are, undecodable ones included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many of the objects do not decode.
    pub fn undecodable(&self) -> usize {
        self.undecodable
    }

    /// Resource version of the collection that this is the state of; `None` before the first list
    /// was complete. It follows every event, deletions and bookmarks included.
    pub fn resource_version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }

    pub(super) fn set_resource_version(&mut self, resource_version: &str) {
        self.resource_version = Some(resource_version.into());
    }

    /// Puts `entry`, which is what `version` has become, in the place of what is held for `key`.
    pub(super) fn insert(
        &mut self,
        key: ObjectKey,
        version: &Incoming<'_, K>,
        entry: Entry<K>,
    ) -> Option<Entry<K>> {
        self.each_index(|index| index.set(&key, version));
        self.undecodable += usize::from(entry.undecodable().is_some());
        let objects = self.namespaces.get_mut(namespace_of(&key));
        match objects.and_then(|objects| objects.get_mut(&key)) {
            Some(placed) => {
                let uids = version.owner_uids();
                self.owners.replace(&key, &mut placed.owners, uids);
                let old = std::mem::replace(&mut placed.entry, entry);
                self.undecodable -= usize::from(old.undecodable().is_some());
                Some(old)
            }
            None => {
                let owners = self.owners.insert(&key, version.owner_uids());
                self.len += 1;
                self.insert_new(key, Placed { entry, owners });
                None
            }
        }
    }

    fn insert_new(&mut self, key: ObjectKey, placed: Placed<K>) {
        let namespace = namespace_of(&key);
        if let Some(objects) = self.namespaces.get_mut(namespace) {
            objects.insert_mut(key, placed);
        } else {
            let namespace = namespace.into();
            let mut objects = HashTrieMapSync::new_sync();
            objects.insert_mut(key, placed);
            self.namespaces.insert_mut(namespace, objects);
        }
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Entry<K>> {
        let namespace = namespace_of(key);
        let old = self.namespaces.get(namespace)?.get(key)?.clone();
        if let Some(objects) = self.namespaces.get_mut(namespace) {
            objects.remove_mut(key);
            if objects.is_empty() {
                self.namespaces.remove_mut(namespace);
            }
        }
        self.owners.remove(key, &old.owners);
        self.each_index(|index| index.remove(key));
        self.len -= 1;
        self.undecodable -= usize::from(old.entry.undecodable().is_some());
        Some(old.entry)
    }

    /// Takes in an index, with all that is there.
    pub(super) fn add_index(&mut self, mut index: Arc<dyn AnyIndex<K>>) {
        if let Some(index) = Arc::get_mut(&mut index) {
            for (key, entry) in self.iter() {
                entry.with_version(|version| index.set(key, version));
            }
        }
        self.indexes.push(index);
    }

    /// Lets go of the indexes that nobody can ask any more.
    pub(super) fn drop_indexes(&mut self) {
        self.indexes.retain(|index| index.is_wanted());
    }

    fn each_index(&mut self, mut change: impl FnMut(&mut dyn AnyIndex<K>)) {
        for index in &mut self.indexes {
            // One that readers may see is not changed; of the copy the rest of the batch is.
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

    /// How many owners objects are found by.
    #[cfg(test)]
    pub(super) fn owner_count(&self) -> usize {
        self.owners.len()
    }

    /// How many namespaces there are.
    #[cfg(test)]
    pub(super) fn namespace_count(&self) -> usize {
        self.namespaces.size()
    }

    #[cfg(test)]
    pub(super) fn index_sizes(&self) -> Vec<(usize, usize, usize)> {
        self.indexes.iter().map(|index| index.sizes()).collect()
    }
}

fn entries<'a, K: 'a>(
    objects: impl Iterator<Item = (&'a ObjectKey, &'a Placed<K>)>,
) -> impl Iterator<Item = (&'a ObjectKey, &'a Entry<K>)> {
    objects.map(|(key, placed)| (key, &placed.entry))
}

fn namespace_of(key: &ObjectKey) -> &str {
    key.namespace().unwrap_or_default()
}

/// Counts only: objects may hold secrets.
impl<K> fmt::Debug for Snapshot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("resource_version", &self.resource_version)
            .field("len", &self.len)
            .field("undecodable", &self.undecodable)
            .finish_non_exhaustive()
    }
}
