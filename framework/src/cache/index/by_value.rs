use std::{borrow::Borrow, hash::Hash};

use rpds::HashTrieMapSync;

use super::{Values, keys::Keys};
use crate::resource::ObjectKey;

/// Keys by the values that they bear; clones share all but what differs.
///
/// Who puts a key in is given what it was put under, and gives that back to have it taken out.
pub(in crate::cache) struct ByValue<V>(HashTrieMapSync<V, Keys>);

impl<V: Hash + Eq + Clone> ByValue<V> {
    /// The keys that bear `value`, in no particular order.
    pub(in crate::cache) fn keys<Q>(
        &self,
        value: &Q,
    ) -> impl Iterator<Item = &ObjectKey> + use<'_, V, Q>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.get(value).into_iter().flat_map(|keys| keys.iter())
    }

    /// Lets `key` bear `values`, too.
    pub(in crate::cache) fn insert(&mut self, key: &ObjectKey, mut values: Vec<V>) -> Values<V> {
        for value in &mut values {
            // Equal values are kept once, where cloning shares.
            if let Some((known, _)) = self.0.get_key_value(value) {
                *value = known.clone();
            }
            if let Some(keys) = self.0.get_mut(value) {
                keys.insert(key);
            } else {
                self.0.insert_mut(value.clone(), Keys::One(key.clone()));
            }
        }
        values.into()
    }

    /// Lets `key` bear `values` no longer.
    pub(in crate::cache) fn remove(&mut self, key: &ObjectKey, values: &Values<V>) {
        for value in values.as_slice() {
            let Some(keys) = self.0.get_mut(value) else {
                continue;
            };
            if keys.remove(key) {
                self.0.remove_mut(value);
            }
        }
    }

    /// How many values are borne.
    #[cfg(test)]
    pub(in crate::cache) fn len(&self) -> usize {
        self.0.size()
    }
}

impl<V: Hash + Eq> Clone for ByValue<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V: Hash + Eq> Default for ByValue<V> {
    fn default() -> Self {
        Self(HashTrieMapSync::new_sync())
    }
}
