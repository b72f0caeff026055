use std::{borrow::Borrow, fmt, hash::Hash, sync::Arc};

use super::{Index, IndexHandle, Listing, Snapshot, published::Published};
use crate::resource::{Object, ObjectKey, Selector, Undecodable};

/// Reads a cache; cloning it is cheap.
///
/// No call waits for the writer, for I/O or for another reader. Two calls may see different states;
/// what must fit together is read from one [`snapshot`](Self::snapshot). The objects are shared:
/// clone one to change it.
pub struct Lister<K> {
    published: Arc<Published<K>>,
}

impl<K: Object> Lister<K> {
    pub(super) fn new(published: Arc<Published<K>>) -> Self {
        Self { published }
    }

    /// The object named `key`; `None` if there is none.
    ///
    /// # Errors
    /// The server has such an object, but it does not fit `K`.
    pub fn get(&self, key: &ObjectKey) -> Result<Option<Arc<K>>, Arc<Undecodable>> {
        self.published.snapshot().get(key)
    }

    /// Whether an object named `key` is there, undecodable ones included.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.published.snapshot().entry(key).is_some()
    }

    /// All objects.
    pub fn list(&self) -> Listing<K> {
        self.published.snapshot().iter().collect()
    }

    /// The objects in `namespace`, by index.
    pub fn in_namespace(&self, namespace: &str) -> Listing<K> {
        self.published.snapshot().in_namespace(namespace).collect()
    }

    /// The objects with an owner reference, controlling or not, to `uid`, by index.
    pub fn by_owner(&self, uid: &str) -> Listing<K> {
        self.published.snapshot().by_owner(uid).collect()
    }

    /// The objects that bear `value` in `index`: see [`Snapshot::by`].
    pub fn by<V, Q>(&self, index: &IndexHandle<K, V>, value: &Q) -> Listing<K>
    where
        V: Borrow<Q> + Hash + Eq + Clone + Send + Sync + 'static,
        Q: Hash + Eq + ?Sized,
    {
        self.published.snapshot().by(index, value).collect()
    }

    /// The objects whose labels are those that `selector` means; every object is looked at.
    pub fn select(&self, selector: &Selector) -> Listing<K> {
        self.published.snapshot().select(selector).collect()
    }

    /// The objects in `namespace`, by index, whose labels are those that `selector` means.
    pub fn select_in(&self, namespace: &str, selector: &Selector) -> Listing<K> {
        let snapshot = self.published.snapshot();
        let objects = snapshot.in_namespace(namespace);
        objects
            .filter(|(_, entry)| entry.matches(selector))
            .collect()
    }

    /// The present state, to be read without copying it. It keeps objects alive while it is held.
    pub fn snapshot(&self) -> Arc<Snapshot<K>> {
        self.published.snapshot_to_keep()
    }

    pub(crate) fn add_index<V>(&self, index: Index<K, V>) -> IndexHandle<K, V>
    where
        V: Hash + Eq + Clone + Send + Sync + 'static,
    {
        self.published.add_index(index)
    }

    /// How many objects there are, undecodable ones included.
    pub fn len(&self) -> usize {
        self.published.snapshot().len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self {
            published: self.published.clone(),
        }
    }
}

impl<K> fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lister")
            .field(&self.published.snapshot())
            .finish()
    }
}
