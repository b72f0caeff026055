use std::{borrow::Borrow, hash::Hash};

use rpds::HashTrieMapSync;

use super::{KeysByValue, ValueList};
use crate::resource::ObjectKey;

/// Which keys have which values. Clones share everything that does not differ.
///
/// The values of each key are stored too, so that the key is removed from the right places whatever its object has
/// become. Nothing remains of a key that was removed.
pub(super) struct InvertedIndex<V> {
    keys: KeysByValue<V>,
    values: HashTrieMapSync<ObjectKey, ValueList<V>>,
}

impl<V: Hash + Eq + Clone> InvertedIndex<V> {
    /// The keys that have `value`, in no particular order.
    pub(super) fn keys<Q>(&self, value: &Q) -> impl Iterator<Item = &ObjectKey> + use<'_, V, Q>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.keys.keys(value)
    }

    /// The values that keys have, each once, in no particular order.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.keys.values()
    }

    /// Sets the values of `key`, replacing all earlier ones.
    pub(super) fn set(&mut self, key: &ObjectKey, values: Vec<V>) {
        let old = self.values.get(key).unwrap_or(&ValueList::None);
        if old.as_slice() == values {
            return;
        }
        self.keys.remove(key, old);
        match self.keys.insert(key, values) {
            ValueList::None => _ = self.values.remove_mut(key),
            values => self.values.insert_mut(key.clone(), values),
        }
    }

    /// Removes all values of `key`.
    pub(super) fn remove(&mut self, key: &ObjectKey) {
        self.set(key, Vec::new());
    }

    /// The number of values and of keys.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.keys.len(), self.values.size())
    }
}

impl<V: Hash + Eq> Clone for InvertedIndex<V> {
    fn clone(&self) -> Self {
        Self {
            keys: self.keys.clone(),
            values: self.values.clone(),
        }
    }
}

impl<V: Hash + Eq> Default for InvertedIndex<V> {
    fn default() -> Self {
        Self {
            keys: KeysByValue::default(),
            values: HashTrieMapSync::new_sync(),
        }
    }
}
