use rpds::HashTrieSetSync;

use crate::resource::ObjectKey;

/// Keys that bear a value, at least one; clones share them.
///
/// Most owners have one object of a kind. It stands in the map itself: the smallest set is four pieces of memory.
#[derive(Clone)]
pub(super) enum Keys {
    One(ObjectKey),
    Many(HashTrieSetSync<ObjectKey>),
}

impl Keys {
    /// In no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &ObjectKey> {
        let (one, many) = match self {
            Self::One(key) => (Some(key), None),
            Self::Many(keys) => (None, Some(keys)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    pub(super) fn insert(&mut self, key: &ObjectKey) {
        match self {
            Self::One(one) if one == key => {}
            Self::One(one) => {
                let keys = HashTrieSetSync::new_sync().insert(one.clone());
                *self = Self::Many(keys.insert(key.clone()));
            }
            Self::Many(keys) => keys.insert_mut(key.clone()),
        }
    }

    /// Takes a key out that is among them. Whether it was the only one: then there must be no keys any more.
    #[must_use]
    pub(super) fn remove(&mut self, key: &ObjectKey) -> bool {
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
