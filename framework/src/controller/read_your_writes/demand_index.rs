use std::{collections::BTreeSet, hash::Hash};

use hashbrown::HashMap;

use super::pending::Token;

/// The keys with a demand, per informer and object.
pub(super) struct DemandIndex<K>(HashMap<usize, HashMap<K, Vec<K>>>);

impl<K: Clone + Eq + Hash + Ord> DemandIndex<K> {
    pub(super) fn new() -> Self {
        Self(HashMap::new())
    }

    /// Whether any key has a demand on the cache of `informer`.
    pub(super) fn has(&self, informer: usize) -> bool {
        self.0.contains_key(&informer)
    }

    /// The keys with demands on `informer`, in their order.
    pub(super) fn keys_of(&self, informer: usize) -> BTreeSet<K> {
        let objects = self.0.get(&informer).into_iter();
        objects
            .flat_map(HashMap::values)
            .flatten()
            .cloned()
            .collect()
    }

    /// The keys with demands on `object` in the cache of `informer`.
    pub(super) fn keys_on(&self, informer: usize, object: &K) -> &[K] {
        let objects = self.0.get(&informer);
        let keys = objects.and_then(|objects| objects.get(object));
        keys.map_or(&[], Vec::as_slice)
    }

    /// `key` has the demand `token` from now on.
    pub(super) fn insert(&mut self, key: &K, token: &Token<K>) {
        let objects = self.0.entry(token.informer).or_default();
        let keys = objects.entry(token.object.clone());
        // There may be one such list per object, and most lists have one item.
        let keys = keys.or_insert_with(|| Vec::with_capacity(1));
        keys.push(key.clone());
    }

    /// `key` does not have the demand `token` any more.
    pub(super) fn remove(&mut self, key: &K, token: &Token<K>) {
        let Some(objects) = self.0.get_mut(&token.informer) else {
            return;
        };
        if let Some(keys) = objects.get_mut(&token.object) {
            if let Some(place) = keys.iter().position(|one| one == key) {
                keys.swap_remove(place);
            }
            if keys.is_empty() {
                objects.remove(&token.object);
            }
        }
        if objects.is_empty() {
            self.0.remove(&token.informer);
        }
    }
}
