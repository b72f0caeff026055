use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;

use super::{Listing, Snapshot};
use crate::resource::{Object, ObjectKey, Undecodable};

/// Reads a cache; cloning it is cheap.
///
/// No call waits for the writer, for I/O or for another reader. Two calls may see different states;
/// what must fit together is read from one [`snapshot`](Self::snapshot). The objects are shared:
/// clone one to change it.
pub struct Lister<K> {
    published: Arc<ArcSwap<Snapshot<K>>>,
}

impl<K: Object> Lister<K> {
    pub(super) fn new(published: Arc<ArcSwap<Snapshot<K>>>) -> Self {
        Self { published }
    }

    /// The object named `key`; `None` if there is none.
    ///
    /// # Errors
    /// The server has such an object, but it does not fit `K`.
    pub fn get(&self, key: &ObjectKey) -> Result<Option<Arc<K>>, Arc<Undecodable>> {
        self.published.load().get(key)
    }

    /// Whether an object named `key` is there, undecodable ones included.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.published.load().entry(key).is_some()
    }

    /// All objects.
    pub fn list(&self) -> Listing<K> {
        self.published.load().iter().collect()
    }

    /// The objects in `namespace`, by index.
    pub fn in_namespace(&self, namespace: &str) -> Listing<K> {
        self.published.load().in_namespace(namespace).collect()
    }

    /// The objects with an owner reference, controlling or not, to `uid`, by index.
    pub fn by_owner(&self, uid: &str) -> Listing<K> {
        self.published.load().by_owner(uid).collect()
    }

    /// The present state, to be read without copying it. It keeps objects alive while it is held.
    pub fn snapshot(&self) -> Arc<Snapshot<K>> {
        self.published.load_full()
    }

    /// How many objects there are, undecodable ones included.
    pub fn len(&self) -> usize {
        self.published.load().len()
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
            .field(&self.published.load())
            .finish()
    }
}
