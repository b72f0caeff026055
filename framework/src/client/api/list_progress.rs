use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
};

use hashbrown::{HashTable, hash_table::Entry};

use crate::client::ObjectList;

/// Detects a list that does not end.
///
/// A list in pages ends when a page has no continue token. A server that sends the same token again, or page after page
/// without a new object, never gets there. This keeps hashes of the tokens and names during one list.
#[derive(Debug, Default)]
pub(crate) struct ListProgress {
    hasher: RandomState,
    tokens: HashSet<u64>,
    /// They are hashes already, so they are not hashed again.
    objects: HashTable<u64>,
    idle_pages: u32,
}

impl ListProgress {
    /// The list fails after this many pages in a row without a new object. An API server fills its pages. A server that
    /// filters them afterwards may send empty ones.
    pub(crate) const MAX_IDLE_PAGES: u32 = 100;

    /// Records a page that is not the last one. `record` records an item of it, as [`object`](Self::object) does.
    ///
    /// # Errors
    /// The reason why the list will not end.
    pub(crate) fn page<T>(
        &mut self,
        page: &ObjectList<T>,
        record: impl Fn(&mut Self, &T) -> bool,
    ) -> Result<(), String> {
        let Some(token) = page.continue_token() else {
            return Ok(());
        };
        if !self.tokens.insert(self.hasher.hash_one(token)) {
            return Err("the server gave the same continue token twice".into());
        }
        let mut new = 0;
        for object in &page.items {
            new += u32::from(record(self, object));
        }
        for object in &page.undecodable {
            new += u32::from(self.object(object.key.namespace(), object.key.name()));
        }
        self.idle_pages = if new > 0 { 0 } else { self.idle_pages + 1 };
        if self.idle_pages < Self::MAX_IDLE_PAGES {
            return Ok(());
        }
        Err(format!(
            "{} pages in a row brought no new object",
            self.idle_pages
        ))
    }

    /// Records an object. Returns whether it is new in this list.
    pub(crate) fn object(&mut self, namespace: Option<&str>, name: &str) -> bool {
        let hash = self.hasher.hash_one((namespace, name));
        let entry = self
            .objects
            .entry(hash, |known| *known == hash, |known| *known);
        match entry {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert(hash);
                true
            }
        }
    }
}
