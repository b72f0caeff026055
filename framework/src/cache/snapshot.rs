use std::{fmt, sync::Arc};

use rpds::{HashTrieMapSync, HashTrieSetSync};

use super::Entry;
use crate::resource::{Object, ObjectKey, Undecodable};

/// The objects of one kind as they stood after some batch of changes; it never changes.
///
/// Snapshots share all but what differs, so one costs no copy, however many objects it holds.
/// Within a snapshot everything fits together: objects, indexes and
/// [`resource_version`](Self::resource_version).
pub struct Snapshot<K> {
    // By namespace first (`""` for cluster-scoped objects): this is the namespace index.
    namespaces: HashTrieMapSync<Arc<str>, HashTrieMapSync<ObjectKey, Entry<K>>>,
    owners: HashTrieMapSync<Arc<str>, HashTrieSetSync<ObjectKey>>,
    resource_version: Option<Arc<str>>,
    len: usize,
    undecodable: usize,
}

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Self {
            namespaces: self.namespaces.clone(),
            owners: self.owners.clone(),
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
            owners: HashTrieMapSync::new_sync(),
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
        self.entry(key)
            .map(|entry| entry.decoded().cloned().map_err(Arc::clone))
            .transpose()
    }

    /// What is held for `key`.
    pub fn entry(&self, key: &ObjectKey) -> Option<&Entry<K>> {
        self.namespaces.get(namespace_of(key))?.get(key)
    }

    /// All objects, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        self.namespaces.values().flat_map(|objects| objects.iter())
    }

    /// The objects in `namespace`, in no particular order; `""` stands for cluster-scoped ones.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        self.namespaces
            .get(namespace)
            .into_iter()
            .flat_map(|objects| objects.iter())
    }

    /// The objects with an owner reference, controlling or not, to `uid`, in no particular order.
    pub fn by_owner(&self, uid: &str) -> impl Iterator<Item = (&ObjectKey, &Entry<K>)> {
        self.owners
            .get(uid)
            .into_iter()
            .flat_map(|keys| keys.iter())
            .filter_map(|key| self.entry(key).map(|entry| (key, entry)))
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

    pub(super) fn insert(&mut self, key: ObjectKey, entry: Entry<K>) -> Option<Entry<K>> {
        let present = self
            .namespaces
            .get_mut(namespace_of(&key))
            .and_then(|objects| objects.get_mut(&key))
            .map(|place| std::mem::replace(place, entry.clone()));
        if let Some(old) = &present {
            self.undecodable -= usize::from(old.decoded().is_err());
            if !old.owner_uids().eq(entry.owner_uids()) {
                self.remove_owners(&key, old);
                self.insert_owners(&key, &entry);
            }
        } else {
            self.len += 1;
            self.insert_owners(&key, &entry);
            self.insert_new(key, entry.clone());
        }
        self.undecodable += usize::from(entry.decoded().is_err());
        present
    }

    fn insert_new(&mut self, key: ObjectKey, entry: Entry<K>) {
        let namespace = namespace_of(&key);
        if let Some(objects) = self.namespaces.get_mut(namespace) {
            objects.insert_mut(key, entry);
        } else {
            let namespace = namespace.into();
            let mut objects = HashTrieMapSync::new_sync();
            objects.insert_mut(key, entry);
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
        self.remove_owners(key, &old);
        self.len -= 1;
        self.undecodable -= usize::from(old.decoded().is_err());
        Some(old)
    }

    #[cfg(test)]
    pub(super) fn index_sets(&self) -> (usize, usize) {
        (self.namespaces.size(), self.owners.size())
    }

    fn insert_owners(&mut self, key: &ObjectKey, entry: &Entry<K>) {
        for uid in entry.owner_uids() {
            if let Some(keys) = self.owners.get_mut(uid) {
                keys.insert_mut(key.clone());
            } else {
                let keys = HashTrieSetSync::new_sync().insert(key.clone());
                self.owners.insert_mut(uid.into(), keys);
            }
        }
    }

    fn remove_owners(&mut self, key: &ObjectKey, entry: &Entry<K>) {
        for uid in entry.owner_uids() {
            let Some(keys) = self.owners.get_mut(uid) else {
                continue;
            };
            keys.remove_mut(key);
            if keys.is_empty() {
                self.owners.remove_mut(uid);
            }
        }
    }
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
