use std::sync::Arc;

use crate::{
    cache::Lister,
    controller::{
        error::{Error, MissingLine},
        state::WiredCaches,
    },
    resource::{ApiResource, Object, ObjectKey, Resource},
};

/// The caches of the wired kinds, for mappings that look something up.
///
/// While the controller starts the caches may not be complete. No change is lost by this: every object of the reconciled
/// kind is reconciled once when all caches have synced.
#[derive(Debug)]
pub struct Lookup<'a> {
    caches: &'a WiredCaches,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(caches: &'a WiredCaches) -> Self {
        Self { caches }
    }

    /// All objects of kind `C` that decode.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not declare the kind.
    pub fn list<C: Resource>(&self) -> Result<Vec<Arc<C>>, Error> {
        Ok(self.lister()?.list().items)
    }

    /// The object of kind `C` with that key. Returns `None` if the cache has none.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not declare the kind. [`Error::Undecodable`] if the object does not fit its Rust
    /// type.
    pub fn get<C: Resource>(&self, key: &ObjectKey) -> Result<Option<Arc<C>>, Error> {
        self.lister()?.get(key).map_err(Error::Undecodable)
    }

    /// The cache of kind `C`, to search it by namespace, owner or labels.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not declare the kind.
    pub fn lister<C: Resource>(&self) -> Result<Lister<C>, Error> {
        let lister = self.caches.get(&ApiResource::of::<C>());
        lister.ok_or_else(|| Error::not_wired("look up", C::KIND, MissingLine::Reads))
    }

    /// The cache of a kind that is known only at run time.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not declare the kind, read as `C`.
    pub fn lister_of<C: Object>(&self, resource: &ApiResource) -> Result<Lister<C>, Error> {
        let lister = self.caches.get(resource);
        let missing = MissingLine::Reads;
        lister.ok_or_else(|| Error::not_wired_dynamic::<C>("look up", resource, missing))
    }
}
