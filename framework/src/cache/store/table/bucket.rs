use std::sync::Arc;

use hashbrown::HashTable;

use crate::resource::ObjectKey;

/// A key and its value. All versions of a bucket share it.
pub(in crate::cache::store) struct Row<V> {
    pub(super) key: ObjectKey,
    pub(in crate::cache::store) value: V,
}

/// Some of the rows of a table.
pub(super) struct Bucket<V>(HashTable<Slot<V>>);

struct Slot<V> {
    hash: u64,
    row: Arc<Row<V>>,
}

/// What the writer does to a bucket: a row comes, goes, or takes the place of another one.
pub(super) struct Change<V> {
    /// The hash of the key.
    pub(super) hash: u64,
    pub(super) old: Option<Arc<Row<V>>>,
    pub(super) new: Option<Arc<Row<V>>>,
}

impl<V> Bucket<V> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Row<V>> {
        self.0.iter().map(|slot| &*slot.row)
    }

    pub(super) fn get(&self, hash: u64, key: &ObjectKey) -> Option<&Arc<Row<V>>> {
        let is_of_key = |slot: &Slot<V>| slot.hash == hash && slot.row.key == *key;
        self.0.find(hash, is_of_key).map(|slot| &slot.row)
    }

    /// Precondition: `change.old` is in the bucket, or it is `None` and the bucket has no row with that key.
    pub(super) fn apply(&mut self, change: Change<V>) {
        let Change { hash, old, new } = change;
        // Only the addresses are compared, so that nothing of the old row is read.
        let is_old = |slot: &Slot<V>| old.as_ref().is_some_and(|old| Arc::ptr_eq(old, &slot.row));
        match (self.0.find_entry(hash, is_old), new) {
            (Ok(mut slot), Some(row)) => slot.get_mut().row = row,
            (Ok(slot), None) => _ = slot.remove(),
            (Err(_), Some(row)) => {
                let slot = Slot { hash, row };
                self.0.insert_unique(hash, slot, |slot| slot.hash);
            }
            (Err(_), None) => {}
        }
    }

    /// A bucket with the rows of both.
    pub(super) fn merged(&self, other: &Self) -> Self {
        let slots = self.0.iter().chain(&other.0).cloned();
        Self::of(slots, self.0.len() + other.0.len())
    }

    /// A bucket with the rows whose hashes `is_in` accepts.
    pub(super) fn filtered(&self, is_in: impl Fn(u64) -> bool) -> Self {
        let slots = self.0.iter().filter(|slot| is_in(slot.hash)).cloned();
        Self::of(slots, self.0.len() / 2)
    }

    fn of(slots: impl Iterator<Item = Slot<V>>, capacity: usize) -> Self {
        let mut table = HashTable::with_capacity(capacity);
        for slot in slots {
            table.insert_unique(slot.hash, slot, |slot| slot.hash);
        }
        Self(table)
    }
}

impl<V> Default for Bucket<V> {
    fn default() -> Self {
        Self(HashTable::new())
    }
}

impl<V> Clone for Bucket<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V> Clone for Slot<V> {
    fn clone(&self) -> Self {
        Self {
            hash: self.hash,
            row: self.row.clone(),
        }
    }
}

impl<V> Clone for Change<V> {
    fn clone(&self) -> Self {
        Self {
            hash: self.hash,
            old: self.old.clone(),
            new: self.new.clone(),
        }
    }
}
