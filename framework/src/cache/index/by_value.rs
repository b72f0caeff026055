use std::{borrow::Borrow, hash::Hash, slice};

use rpds::{HashTrieMapSync, HashTrieSetSync};

use crate::resource::ObjectKey;

/// Keys by their values. Clones share everything that does not differ.
///
/// [`insert`](Self::insert) returns the values under which it put the key, and [`remove`](Self::remove) needs them.
pub(in crate::cache) struct KeysByValue<V>(HashTrieMapSync<V, KeySet>);

impl<V: Hash + Eq + Clone> KeysByValue<V> {
    /// The keys that have `value`, in no particular order.
    pub(super) fn keys<Q>(&self, value: &Q) -> impl Iterator<Item = &ObjectKey> + use<'_, V, Q>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.get(value).into_iter().flat_map(|keys| keys.iter())
    }

    /// The values, each once, in no particular order.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.keys()
    }

    /// Adds `values` to those of `key`.
    pub(super) fn insert(&mut self, key: &ObjectKey, mut values: Vec<V>) -> ValueList<V> {
        for value in &mut values {
            // Equal values are stored once, if cloning them shares memory.
            if let Some((known, _)) = self.0.get_key_value(value) {
                *value = known.clone();
            }
            if let Some(keys) = self.0.get_mut(value) {
                keys.insert(key);
            } else {
                self.0.insert_mut(value.clone(), KeySet::One(key.clone()));
            }
        }
        values.into()
    }

    /// Removes `values` from those of `key`.
    pub(super) fn remove(&mut self, key: &ObjectKey, values: &ValueList<V>) {
        for value in values.as_slice() {
            let Some(keys) = self.0.get_mut(value) else {
                continue;
            };
            if keys.remove(key) {
                self.0.remove_mut(value);
            }
        }
    }

    /// The number of values.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.size()
    }
}

impl<V: Hash + Eq> Clone for KeysByValue<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V: Hash + Eq> Default for KeysByValue<V> {
    fn default() -> Self {
        Self(HashTrieMapSync::new_sync())
    }
}

/// The keys that have a value, at least one. Clones share them.
///
/// Most owners have one object of a kind. Its key lies in the map itself, because even the smallest set takes four
/// allocations.
#[derive(Clone)]
enum KeySet {
    One(ObjectKey),
    Many(HashTrieSetSync<ObjectKey>),
}

impl KeySet {
    /// In no particular order.
    fn iter(&self) -> impl Iterator<Item = &ObjectKey> {
        let (one, many) = match self {
            Self::One(key) => (Some(key), None),
            Self::Many(keys) => (None, Some(keys)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    fn insert(&mut self, key: &ObjectKey) {
        match self {
            Self::One(one) if one == key => {}
            Self::One(one) => {
                let keys = HashTrieSetSync::new_sync().insert(one.clone());
                *self = Self::Many(keys.insert(key.clone()));
            }
            Self::Many(keys) => keys.insert_mut(key.clone()),
        }
    }

    /// Removes a key that is among them. Returns whether it was the only one; the caller must then drop the whole
    /// set.
    #[must_use]
    fn remove(&mut self, key: &ObjectKey) -> bool {
        match self {
            Self::One(one) => one == key,
            Self::Many(keys) => {
                keys.remove_mut(key);
                let last = match keys.size() {
                    1 => keys.iter().next().cloned(),
                    _ => None,
                };
                if let Some(last) = last {
                    *self = Self::One(last);
                }
                false
            }
        }
    }
}

/// The values of one key. Most keys have one.
#[derive(Clone)]
pub(in crate::cache) enum ValueList<V> {
    None,
    One(V),
    Many(Box<[V]>),
}

impl<V> ValueList<V> {
    /// In the order in which they were given.
    pub(super) fn as_slice(&self) -> &[V] {
        match self {
            Self::None => &[],
            Self::One(value) => slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

impl<V> From<Vec<V>> for ValueList<V> {
    fn from(mut values: Vec<V>) -> Self {
        match (values.len(), values.pop()) {
            (_, None) => Self::None,
            (1, Some(value)) => Self::One(value),
            (_, Some(last)) => {
                values.push(last);
                Self::Many(values.into())
            }
        }
    }
}
