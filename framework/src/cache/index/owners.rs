use std::sync::Arc;

use super::{KeysByValue, ValueList};
use crate::resource::ObjectKey;

/// The UIDs of the owners by which an object is found.
pub(in crate::cache) type OwnerUids = ValueList<Arc<str>>;

/// Which objects have owner references to which UIDs. Clones share everything that does not differ.
///
/// It does not depend on the kind, so that it is compiled once.
#[derive(Clone, Default)]
pub(in crate::cache) struct OwnerIndex(KeysByValue<Arc<str>>);

impl OwnerIndex {
    /// The keys of the objects that `uid` owns, in no particular order.
    pub(in crate::cache) fn keys(&self, uid: &str) -> impl Iterator<Item = &ObjectKey> + use<'_> {
        self.0.keys(uid)
    }

    /// Adds `key` under `uids`, and returns what [`remove`](Self::remove) needs.
    pub(in crate::cache) fn insert<'a>(
        &mut self,
        key: &ObjectKey,
        uids: impl Iterator<Item = &'a str>,
    ) -> OwnerUids {
        self.insert_uids(key, uids.map(Into::into).collect())
    }

    /// Moves `key` from the `old` UIDs to `uids`, and returns what [`remove`](Self::remove) needs.
    pub(in crate::cache) fn replaced<'a>(
        &mut self,
        key: &ObjectKey,
        old: &OwnerUids,
        uids: impl Iterator<Item = &'a str> + Clone,
    ) -> OwnerUids {
        if old.as_slice().iter().map(|uid| &**uid).eq(uids.clone()) {
            return old.clone();
        }
        self.remove(key, old);
        self.insert(key, uids)
    }

    /// Removes `key` from `uids`.
    pub(in crate::cache) fn remove(&mut self, key: &ObjectKey, uids: &OwnerUids) {
        self.0.remove(key, uids);
    }

    /// Compiled once, and not for each type of iterator.
    fn insert_uids(&mut self, key: &ObjectKey, uids: Vec<Arc<str>>) -> OwnerUids {
        self.0.insert(key, uids)
    }

    /// The number of UIDs.
    #[cfg(test)]
    pub(in crate::cache) fn len(&self) -> usize {
        self.0.len()
    }
}
