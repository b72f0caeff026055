use std::{
    any::Any,
    borrow::Borrow,
    hash::Hash,
    sync::{Arc, Weak},
};

use rpds::HashTrieSetSync;

use super::{Definition, IndexHandle, InvertedIndex, definition::IndexValues};
use crate::{
    cache::entry::IncomingObject,
    resource::{Object, ObjectKey},
};

/// An index with any type of values, as a store holds it.
pub(in crate::cache) trait AnyIndex<K>: Any + Send + Sync {
    /// A copy that can be changed. It shares everything that does not differ.
    fn fork(&self) -> Arc<dyn AnyIndex<K>>;
    /// Takes in a version of an object.
    fn set(&mut self, key: &ObjectKey, version: &IncomingObject<'_, K>);
    /// Removes an object.
    fn remove(&mut self, key: &ObjectKey);
    /// Whether there is still a handle to query it with.
    fn is_wanted(&self) -> bool;
    /// Whether it needs the decoded object of each version.
    fn reads_objects(&self) -> bool;
    /// The number of values, of keys with values, and of keys whose values are unknown.
    #[cfg(test)]
    fn sizes(&self) -> (usize, usize, usize);
}

/// An index with its contents.
pub(in crate::cache) struct FilledIndex<K, V> {
    definition: Weak<Definition<K, V>>,
    values: InvertedIndex<V>,
    unknown: HashTrieSetSync<ObjectKey>,
}

impl<K: Object, V: Hash + Eq + Clone + Send + Sync + 'static> FilledIndex<K, V> {
    /// Without contents.
    pub(in crate::cache) fn new(definition: &Arc<Definition<K, V>>) -> Self {
        Self {
            definition: Arc::downgrade(definition),
            values: InvertedIndex::default(),
            unknown: HashTrieSetSync::new_sync(),
        }
    }

    /// The index of `handle`, if `indexes` contains it.
    pub(in crate::cache) fn find<'a>(
        indexes: &'a [Arc<dyn AnyIndex<K>>],
        handle: &IndexHandle<K, V>,
    ) -> Option<&'a Self> {
        let all = indexes.iter().map(|index| -> &dyn Any { &**index });
        let mut all = all.filter_map(|index| index.downcast_ref::<Self>());
        all.find(|index| index.definition.as_ptr() == Arc::as_ptr(&handle.definition))
    }

    /// The keys of the objects that have `value`, or might have it.
    pub(in crate::cache) fn keys<Q>(
        &self,
        value: &Q,
    ) -> impl Iterator<Item = &ObjectKey> + use<'_, K, V, Q>
    where
        V: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.values.keys(value).chain(self.unknown.iter())
    }

    /// The values that objects have, each once, in no particular order.
    pub(in crate::cache) fn values(&self) -> impl Iterator<Item = &V> {
        self.values.values()
    }
}

impl<K: Object, V: Hash + Eq + Clone + Send + Sync + 'static> AnyIndex<K> for FilledIndex<K, V> {
    fn fork(&self) -> Arc<dyn AnyIndex<K>> {
        Arc::new(Self {
            definition: self.definition.clone(),
            values: self.values.clone(),
            unknown: self.unknown.clone(),
        })
    }

    fn set(&mut self, key: &ObjectKey, version: &IncomingObject<'_, K>) {
        let Some(definition) = self.definition.upgrade() else {
            return;
        };
        match definition.values_of(key, version) {
            IndexValues::Known(values) => {
                self.unknown.remove_mut(key);
                self.values.set(key, values);
            }
            IndexValues::Unknown => {
                self.values.remove(key);
                self.unknown.insert_mut(key.clone());
            }
        }
    }

    fn remove(&mut self, key: &ObjectKey) {
        self.values.remove(key);
        self.unknown.remove_mut(key);
    }

    fn is_wanted(&self) -> bool {
        self.definition.strong_count() > 0
    }

    fn reads_objects(&self) -> bool {
        let definition = self.definition.upgrade();
        definition.is_some_and(|definition| definition.reads_objects())
    }

    #[cfg(test)]
    fn sizes(&self) -> (usize, usize, usize) {
        let (values, keys) = self.values.sizes();
        (values, keys, self.unknown.size())
    }
}
