use std::{
    any::Any,
    borrow::Borrow,
    hash::Hash,
    sync::{Arc, Weak},
};

use rpds::HashTrieSetSync;

use super::{Definition, IndexHandle, Inverted, definition::Filing};
use crate::{
    cache::incoming::Incoming,
    resource::{Object, ObjectKey},
};

/// An index of any values, as a store keeps it.
pub(in crate::cache) trait AnyIndex<K>: Any + Send + Sync {
    /// A copy that can be changed; it shares all but what differs.
    fn fork(&self) -> Arc<dyn AnyIndex<K>>;
    /// Files a version of an object.
    fn set(&mut self, key: &ObjectKey, version: &Incoming<'_, K>);
    /// Lets go of an object.
    fn remove(&mut self, key: &ObjectKey);
    /// Whether there is still a handle to ask it with.
    fn is_wanted(&self) -> bool;
    /// How many values, filed keys and keys of unknown place there are.
    #[cfg(test)]
    fn sizes(&self) -> (usize, usize, usize);
}

/// One index and what is filed in it.
pub(in crate::cache) struct Filled<K, V> {
    definition: Weak<Definition<K, V>>,
    filed: Inverted<V>,
    unknown: HashTrieSetSync<ObjectKey>,
}

impl<K: Object, V: Hash + Eq + Clone + Send + Sync + 'static> Filled<K, V> {
    /// Nothing is filed yet.
    pub(in crate::cache) fn new(definition: &Arc<Definition<K, V>>) -> Self {
        Self {
            definition: Arc::downgrade(definition),
            filed: Inverted::default(),
            unknown: HashTrieSetSync::new_sync(),
        }
    }

    /// The index of `handle`, if it is among `indexes`.
    pub(in crate::cache) fn find<'a>(
        indexes: &'a [Arc<dyn AnyIndex<K>>],
        handle: &IndexHandle<K, V>,
    ) -> Option<&'a Self> {
        let all = indexes.iter().map(|index| -> &dyn Any { &**index });
        let mut all = all.filter_map(|index| index.downcast_ref::<Self>());
        all.find(|index| index.definition.as_ptr() == Arc::as_ptr(&handle.definition))
    }

    /// The keys of the objects that bear `value`, or could.
    pub(in crate::cache) fn keys<Q>(
        &self,
        value: &Q,
    ) -> impl Iterator<Item = &ObjectKey> + use<'_, K, V, Q>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.filed.keys(value).chain(self.unknown.iter())
    }
}

impl<K: Object, V: Hash + Eq + Clone + Send + Sync + 'static> AnyIndex<K> for Filled<K, V> {
    fn fork(&self) -> Arc<dyn AnyIndex<K>> {
        Arc::new(Self {
            definition: self.definition.clone(),
            filed: self.filed.clone(),
            unknown: self.unknown.clone(),
        })
    }

    fn set(&mut self, key: &ObjectKey, version: &Incoming<'_, K>) {
        let Some(definition) = self.definition.upgrade() else {
            return;
        };
        match definition.file(key, version) {
            Filing::Under(values) => {
                self.unknown.remove_mut(key);
                self.filed.set(key, values);
            }
            Filing::Unknown => {
                self.filed.remove(key);
                self.unknown.insert_mut(key.clone());
            }
        }
    }

    fn remove(&mut self, key: &ObjectKey) {
        self.filed.remove(key);
        self.unknown.remove_mut(key);
    }

    fn is_wanted(&self) -> bool {
        self.definition.strong_count() > 0
    }

    #[cfg(test)]
    fn sizes(&self) -> (usize, usize, usize) {
        let (values, keys) = self.filed.sizes();
        (values, keys, self.unknown.size())
    }
}
