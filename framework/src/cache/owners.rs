use std::sync::Arc;

use super::index::{ByValue, Values};
use crate::resource::ObjectKey;

/// UIDs of the owners by which an object is found.
pub(super) type OwnerUids = Values<Arc<str>>;

/// Which objects have owner references to which UIDs; clones share all but what differs.
///
/// It knows no kind, so that it is not built for each.
#[derive(Clone, Default)]
pub(super) struct Owners(ByValue<Arc<str>>);

impl Owners {
    /// The keys of the objects that `uid` owns, in no particular order.
    pub(super) fn keys(&self, uid: &str) -> impl Iterator<Item = &ObjectKey> + use<'_> {
        self.0.keys(uid)
    }

    /// Lets `key` be found by `uids`, and gives what [`remove`](Self::remove) needs.
    pub(super) fn insert<'a>(
        &mut self,
        key: &ObjectKey,
        uids: impl Iterator<Item = &'a str>,
    ) -> OwnerUids {
        self.file(key, uids.map(Into::into).collect())
    }

    /// Lets `key` be found by `uids` instead of by `old`.
    pub(super) fn replace<'a>(
        &mut self,
        key: &ObjectKey,
        old: &mut OwnerUids,
        uids: impl Iterator<Item = &'a str> + Clone,
    ) {
        if !old.as_slice().iter().map(|uid| &**uid).eq(uids.clone()) {
            self.remove(key, old);
            *old = self.insert(key, uids);
        }
    }

    /// Lets `key` not be found by `uids` any more.
    pub(super) fn remove(&mut self, key: &ObjectKey, uids: &OwnerUids) {
        self.0.remove(key, uids);
    }

    /// Built once, and not for each kind.
    fn file(&mut self, key: &ObjectKey, uids: Vec<Arc<str>>) -> OwnerUids {
        self.0.insert(key, uids)
    }

    /// How many UIDs there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
