use std::{borrow::Borrow, fmt, sync::Arc};

use super::{Definition, definition::Filing};
use crate::{cache::Entry, resource::Object};

/// With it an [`Index`](super::Index) that was added to a cache is asked:
/// [`Lister::by`](crate::cache::Lister::by), [`Snapshot::by`](crate::cache::Snapshot::by).
///
/// Every cache of the kind gives the right answer; the one that it came from gives it by index, as
/// soon as it has taken the index in, others by looking at each of their objects. Cloning is
/// cheap; with the last clone the index goes.
pub struct IndexHandle<K, V> {
    pub(super) definition: Arc<Definition<K, V>>,
}

impl<K: Object, V> IndexHandle<K, V> {
    pub(in crate::cache) fn new(definition: Arc<Definition<K, V>>) -> Self {
        Self { definition }
    }

    /// Whether the object bears `value`, or could, found out by calling the function.
    pub(in crate::cache) fn finds<Q>(&self, entry: &Entry<K>, value: &Q) -> bool
    where
        V: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let filing = entry.with_version(|version| self.definition.peek(version));
        match filing {
            Filing::Under(values) => values.iter().any(|one| one.borrow() == value),
            Filing::Unknown => true,
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
