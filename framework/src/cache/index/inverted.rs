use std::{borrow::Borrow, hash::Hash};

use rpds::HashTrieMapSync;

use super::{ByValue, Values};
use crate::resource::ObjectKey;

/// Which keys bear which values; clones share all but what differs.
///
/// What a key was put under is kept, so that it is taken out from there whatever its object has
/// become. Nothing is left of a key that was removed.
pub(super) struct Inverted<V> {
    keys: ByValue<V>,
    values: HashTrieMapSync<ObjectKey, Values<V>>,
}

impl<V: Hash + Eq + Clone> Inverted<V> {
    /// The keys that bear `value`, in no particular order.
    pub(super) fn keys<Q>(&self, value: &Q) -> impl Iterator<Item = &ObjectKey> + use<'_, V, Q>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.keys.keys(value)
    }

    /// Lets `key` bear `values` and no others.
    pub(super) fn set(&mut self, key: &ObjectKey, values: Vec<V>) {
        let old = self.values.get(key).unwrap_or(&Values::None);
        if old.as_slice() == values {
            return;
        }
        self.keys.remove(key, old);
        match self.keys.insert(key, values) {
            Values::None => _ = self.values.remove_mut(key),
            values => self.values.insert_mut(key.clone(), values),
        }
    }

    /// Lets `key` bear no value.
    pub(super) fn remove(&mut self, key: &ObjectKey) {
        self.set(key, Vec::new());
    }

    /// How many values and keys there are.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.keys.len(), self.values.size())
    }
}

impl<V: Hash + Eq> Clone for Inverted<V> {
    fn clone(&self) -> Self {
        Self {
            keys: self.keys.clone(),
            values: self.values.clone(),
        }
    }
}

impl<V: Hash + Eq> Default for Inverted<V> {
    fn default() -> Self {
        Self {
            keys: ByValue::default(),
            values: HashTrieMapSync::new_sync(),
        }
    }
}
