//! A cache as the objects that the consumer of a queue holds.

use std::sync::Arc;

use super::KnownObjects;
use crate::{
    cache::Snapshot,
    resource::{Object, ObjectKey},
};

/// An object that does not decode counts as known; its last version that decoded is its state.
impl<K: Object> KnownObjects<Arc<K>> for Snapshot<K> {
    fn keys(&self) -> Vec<ObjectKey> {
        self.iter().map(|(key, _)| key.clone()).collect()
    }

    fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.entry(key).and_then(|entry| entry.last_object())
    }

    fn contains(&self, key: &ObjectKey) -> bool {
        self.entry(key).is_some()
    }
}
