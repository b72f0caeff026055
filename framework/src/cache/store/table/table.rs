use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, LazyLock},
};

use super::{BackBuffers, Buckets, Change, Row};
use crate::resource::ObjectKey;

/// The rows of one namespace by their keys. A clone is a snapshot, and copies no rows.
///
/// The number of buckets grows and shrinks by one at a time (linear hashing), so that no change moves many rows.
///
/// The writer gives its [`BackBuffers`] to each change. Whoever changes another clone gives none.
pub(in crate::cache::store) struct Table<V> {
    namespace: Arc<str>,
    buckets: Buckets<V>,
    len: usize,
}

impl<V> Table<V> {
    /// The table adds a bucket when the mean number of rows in a bucket is larger. Then split buckets have about 40 rows, and the others
    /// up to twice as many. A hash table of 64 slots takes 56 rows, and one of 128 slots takes 112.
    const MAX_LOAD: usize = 40;

    pub(in crate::cache::store) fn new(namespace: Arc<str>) -> Self {
        Self {
            namespace,
            buckets: Buckets::default(),
            len: 0,
        }
    }

    pub(in crate::cache::store) fn len(&self) -> usize {
        self.len
    }

    pub(in crate::cache::store) fn get(&self, key: &ObjectKey) -> Option<&V> {
        let hash = hash_of(key);
        let bucket = self.buckets.get(bucket_index(hash, self.buckets.len()))?;
        bucket.get(hash, key).map(|row| &row.value)
    }

    /// The rows, in the same order each time for the same snapshot.
    pub(in crate::cache::store) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &V)> {
        let rows = self.buckets.iter().flat_map(|bucket| bucket.rows());
        rows.map(|row| (&row.key, &row.value))
    }

    /// Puts what `value` makes of the present row of the key in its place. Returns that row.
    pub(in crate::cache::store) fn put(
        &mut self,
        key: ObjectKey,
        value: impl FnOnce(&ObjectKey, Option<&V>) -> V,
        mut buffers: Option<&mut BackBuffers<V>>,
    ) -> Option<Arc<Row<V>>> {
        let hash = hash_of(&key);
        let old = self.row(hash, &key).cloned();
        let value = value(&key, old.as_ref().map(|row| &row.value));
        let change = Change {
            hash,
            old: old.clone(),
            new: Some(Arc::new(Row { key, value })),
        };
        self.change(change, buffers.as_deref_mut());
        if old.is_none() {
            self.len += 1;
            if self.len > self.buckets.len() * Self::MAX_LOAD {
                self.split(buffers);
            }
        }
        old
    }

    /// Removes the row of the key, and returns it.
    pub(in crate::cache::store) fn remove(
        &mut self,
        key: &ObjectKey,
        mut buffers: Option<&mut BackBuffers<V>>,
    ) -> Option<Arc<Row<V>>> {
        let hash = hash_of(key);
        let old = self.row(hash, key)?.clone();
        let change = Change {
            hash,
            old: Some(old.clone()),
            new: None,
        };
        self.change(change, buffers.as_deref_mut());
        self.len -= 1;
        if self.buckets.len() > 1 && self.len < self.buckets.len() * Self::MAX_LOAD / 4 {
            self.merge(buffers);
        }
        Some(old)
    }

    fn row(&self, hash: u64, key: &ObjectKey) -> Option<&Arc<Row<V>>> {
        let bucket = self.buckets.get(bucket_index(hash, self.buckets.len()))?;
        bucket.get(hash, key)
    }

    fn change(&mut self, change: Change<V>, buffers: Option<&mut BackBuffers<V>>) {
        let index = bucket_index(change.hash, self.buckets.len());
        // The bucket of an index below their number is always there, here and below.
        let Some(bucket) = self.buckets.get_mut(index) else {
            return;
        };
        match buffers {
            Some(buffers) => buffers.change(&self.namespace, index, bucket, change),
            None => Arc::make_mut(bucket).apply(change),
        }
    }

    /// Adds a bucket, which takes its rows from another one.
    fn split(&mut self, buffers: Option<&mut BackBuffers<V>>) {
        let new = self.buckets.len();
        let source = split_source(new);
        let Some(bucket) = self.buckets.get_mut(source) else {
            return;
        };
        let moved = bucket.filtered(|hash| bucket_index(hash, new + 1) == new);
        let stayed = bucket.filtered(|hash| bucket_index(hash, new + 1) != new);
        *bucket = Arc::new(stayed);
        self.buckets.push(moved);
        if let Some(buffers) = buffers {
            buffers.discard(&self.namespace, source);
        }
    }

    /// Removes the last bucket. Its rows go back to the one from which it took them.
    fn merge(&mut self, buffers: Option<&mut BackBuffers<V>>) {
        let Some(last) = self.buckets.pop() else {
            return;
        };
        let source = split_source(self.buckets.len());
        if let Some(bucket) = self.buckets.get_mut(source) {
            *bucket = Arc::new(bucket.merged(&last));
        }
        if let Some(buffers) = buffers {
            buffers.discard(&self.namespace, source);
            buffers.discard(&self.namespace, self.buckets.len());
        }
    }

    #[cfg(test)]
    pub(in crate::cache::store) fn bucket_count(&self) -> usize {
        self.buckets.len()
    }

    #[cfg(test)]
    pub(in crate::cache::store) fn bucket_addresses(&self) -> Vec<usize> {
        let buckets = self.buckets.iter().map(std::ptr::from_ref);
        buckets.map(<*const _>::addr).collect()
    }
}

impl<V> Clone for Table<V> {
    fn clone(&self) -> Self {
        Self {
            namespace: self.namespace.clone(),
            buckets: self.buckets.clone(),
            len: self.len,
        }
    }
}

/// Names come from the tenants of a cluster, so the hash has a key that they do not know.
fn hash_of(key: &ObjectKey) -> u64 {
    static STATE: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    STATE.hash_one(key)
}

/// The bucket of a hash, if there are `count`. It depends on other bits than the slot in the bucket.
fn bucket_index(hash: u64, count: usize) -> usize {
    let mask = count.next_power_of_two() - 1;
    let index = (hash >> 32) as usize & mask;
    match index < count {
        true => index,
        false => index & (mask >> 1),
    }
}

/// The bucket that has the rows of the bucket `new` as long as that does not exist.
fn split_source(new: usize) -> usize {
    let mask = (new + 1).next_power_of_two() - 1;
    new & (mask >> 1)
}
