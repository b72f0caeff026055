use std::{borrow::Borrow, fmt, sync::Arc};

use super::{Definition, definition::IndexValues};
use crate::{cache::Entry, resource::Object};

/// Queries an [`Index`](super::Index) that was added to a cache: [`Lister::by`](crate::cache::Lister::by),
/// [`Snapshot::by`](crate::cache::Snapshot::by).
///
/// Every cache of the kind gives the right answer. The cache that returned the handle answers from the index, as soon
/// as it has built the index; any other cache looks at each of its objects. Cloning is cheap. The index is dropped
/// with the last clone.
pub struct IndexHandle<K, V> {
    pub(in crate::cache) definition: Arc<Definition<K, V>>,
}

impl<K: Object, V> IndexHandle<K, V> {
    pub(in crate::cache) fn new(definition: Arc<Definition<K, V>>) -> Self {
        Self { definition }
    }

    /// Calls the index function. Returns the values of the object, as far as they are known.
    pub(in crate::cache) fn values_of(&self, entry: &Entry<K>) -> Vec<V> {
        match entry.with_version(|version| self.definition.values_uncounted(version)) {
            IndexValues::Known(values) => values,
            IndexValues::Unknown => Vec::new(),
        }
    }

    /// Calls the index function. Returns whether the object has `value` or might have it.
    pub(in crate::cache) fn finds<Q>(&self, entry: &Entry<K>, value: &Q) -> bool
    where
        V: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let filing = entry.with_version(|version| self.definition.values_uncounted(version));
        match filing {
            IndexValues::Known(values) => values.iter().any(|one| one.borrow() == value),
            IndexValues::Unknown => true,
        }
    }
}

impl<K, V> Clone for IndexHandle<K, V> {
    fn clone(&self) -> Self {
        Self {
            definition: self.definition.clone(),
        }
    }
}

impl<K, V> fmt::Debug for IndexHandle<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = self.definition.location;
        write!(f, "IndexHandle({location})")
    }
}
