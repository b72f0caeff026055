use std::{fmt, sync::Arc};

use crate::{
    cache::Entry,
    resource::{Object, ObjectKey, Undecodable},
};

/// Objects of a cache, together with those that do not decode.
pub struct Listing<K> {
    /// The objects, in no particular order.
    pub items: Vec<Arc<K>>,
    /// The objects of the server that do not decode.
    pub undecodable: Vec<Arc<Undecodable>>,
}

impl<'a, K: Object> FromIterator<(&'a ObjectKey, &'a Entry<K>)> for Listing<K> {
    fn from_iter<I: IntoIterator<Item = (&'a ObjectKey, &'a Entry<K>)>>(entries: I) -> Self {
        let mut listing = Self {
            items: Vec::new(),
            undecodable: Vec::new(),
        };
        for (_, entry) in entries {
            match entry.object() {
                Ok(object) => listing.items.push(object),
                Err(object) => listing.undecodable.push(object),
            }
        }
        listing
    }
}

/// Shows counts only: objects may hold secrets.
impl<K> fmt::Debug for Listing<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing")
            .field("items", &self.items.len())
            .field("undecodable", &self.undecodable)
            .finish()
    }
}
