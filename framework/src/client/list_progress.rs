use std::{
    borrow::Borrow,
    collections::HashSet,
    hash::{BuildHasher, RandomState},
};

use super::ObjectList;
use crate::resource::Object;

/// Notices that a list does not come to its end.
///
/// A list in pages ends when a page has no continue token. A server that hands out the same token again, or page after
/// page without a new object, never gets there. Tokens and names are kept as hashes for the time of one list.
#[derive(Debug, Default)]
pub(crate) struct ListProgress {
    hasher: RandomState,
    tokens: HashSet<u64>,
    objects: HashSet<u64>,
    idle_pages: u32,
}

impl ListProgress {
    /// The list fails after so many pages in a row without a new object. An API server fills its pages; one that
    /// filters later may send empty ones.
    pub(crate) const MOST_IDLE_PAGES: u32 = 100;

    /// Takes note of a page that is not the last one.
    ///
    /// # Errors
    /// Says why the list will not end.
    pub(crate) fn page<K: Object, T: Borrow<K>>(
        &mut self,
        page: &ObjectList<T>,
    ) -> Result<(), String> {
        let Some(token) = page.continue_token() else {
            return Ok(());
        };
        if !self.tokens.insert(self.hasher.hash_one(token)) {
            return Err("the server gave the same continue token twice".into());
        }
        let mut new = 0;
        for object in &page.items {
            let metadata = object.borrow().metadata();
            let name = metadata.name.as_deref().unwrap_or_default();
            new += u32::from(self.object(metadata.namespace.as_deref(), name));
        }
        for object in &page.undecodable {
            new += u32::from(self.object(object.key.namespace(), object.key.name()));
        }
        self.idle_pages = if new > 0 { 0 } else { self.idle_pages + 1 };
        if self.idle_pages < Self::MOST_IDLE_PAGES {
            return Ok(());
        }
        Err(format!(
            "{} pages in a row brought no new object",
            self.idle_pages
        ))
    }

    /// Takes note of an object; answers whether it is new in this list.
    pub(crate) fn object(&mut self, namespace: Option<&str>, name: &str) -> bool {
        self.objects.insert(self.hasher.hash_one((namespace, name)))
    }
}
