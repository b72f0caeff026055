use std::{fmt, sync::Arc};

use super::Entry;
use crate::resource::{Object, ObjectKey, Undecodable};

/// Objects of a cache, and beside them those that do not decode.
pub struct Listing<K> {
    /// The objects, in no particular order.
    pub items: Vec<Arc<K>>,
    /// What else the server has there.
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

/// Counts only: objects may hold secrets.
impl<K> fmt::Debug for Listing<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing")
            .field("items", &self.items.len())
            .field("undecodable", &self.undecodable)
            .finish()
    }
}
