use std::{borrow::Borrow, hash::Hash, slice};

use rpds::HashTrieMapSync;

use super::keys::Keys;
use crate::resource::ObjectKey;

/// Which keys bear which values; clones share all but what differs.
///
/// What a key was put under is kept, so that it is taken out from there whatever its object has
/// become. Nothing is left of a key that was removed.
pub(in crate::cache) struct Inverted<V> {
    keys: HashTrieMapSync<V, Keys>,
    values: HashTrieMapSync<ObjectKey, Values<V>>,
}

/// Most keys bear one value.
enum Values<V> {
    One(V),
    Many(Box<[V]>),
}

impl<V> Values<V> {
    fn as_slice(&self) -> &[V] {
        match self {
            Self::One(value) => slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

impl<V: Hash + Eq + Clone> Inverted<V> {
    /// The keys that bear `value`, in no particular order.
    pub(in crate::cache) fn keys<Q>(
        &self,
        value: &Q,
    ) -> impl Iterator<Item = &ObjectKey> + use<'_, V, Q>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.keys
            .get(value)
            .into_iter()
            .flat_map(|keys| keys.iter())
    }

    /// Whether `key` bears just these values, in this order.
    pub(in crate::cache) fn bears<'a, Q>(
        &self,
        key: &ObjectKey,
        values: impl Iterator<Item = &'a Q>,
    ) -> bool
    where
        V: Borrow<Q>,
        Q: Eq + ?Sized + 'a,
    {
        self.of(key).iter().map(Borrow::borrow).eq(values)
    }

    /// Lets `key` bear `values` and no others.
    pub(in crate::cache) fn set(&mut self, key: &ObjectKey, mut values: Vec<V>) {
        if self.of(key) == values {
            return;
        }
        self.remove(key);
        for value in &mut values {
            // Equal values are kept once, where cloning shares.
            if let Some((known, _)) = self.keys.get_key_value(value) {
                *value = known.clone();
            }
            if let Some(keys) = self.keys.get_mut(value) {
                keys.insert(key);
            } else {
                self.keys.insert_mut(value.clone(), Keys::One(key.clone()));
            }
        }
        let values = match (values.len(), values.pop()) {
            (1, Some(value)) => Values::One(value),
            (_, None) => return,
            (_, Some(last)) => {
                values.push(last);
                Values::Many(values.into())
            }
        };
        self.values.insert_mut(key.clone(), values);
    }

    /// Lets `key` bear no value.
    pub(in crate::cache) fn remove(&mut self, key: &ObjectKey) {
        let of = self.values.get(key).map_or(&[][..], Values::as_slice);
        if of.is_empty() {
            return;
        }
        for value in of {
            let Some(keys) = self.keys.get_mut(value) else {
                continue;
            };
            if keys.remove(key) {
                self.keys.remove_mut(value);
            }
        }
        self.values.remove_mut(key);
    }

    /// How many values and keys there are.
    #[cfg(test)]
    pub(in crate::cache) fn sizes(&self) -> (usize, usize) {
        (self.keys.size(), self.values.size())
    }

    fn of(&self, key: &ObjectKey) -> &[V] {
        self.values.get(key).map_or(&[], Values::as_slice)
    }
}

impl<V> Clone for Inverted<V>
where
    V: Hash + Eq,
{
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
            keys: HashTrieMapSync::new_sync(),
            values: HashTrieMapSync::new_sync(),
        }
    }
}
