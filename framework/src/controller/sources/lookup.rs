use std::sync::Arc;

use crate::{
    cache::Lister,
    controller::{Error, readers::Readers},
    resource::{ApiResource, Object, ObjectKey, Resource},
};

/// The caches of the wired kinds, for mappings that have to look something up.
///
/// While the controller starts they may not be filled yet. That loses nothing: every object of the
/// reconciled kind is reconciled once when all of them are.
#[derive(Debug)]
pub struct Lookup<'a> {
    readers: &'a Readers,
}

impl<'a> Lookup<'a> {
    pub(in crate::controller) fn new(readers: &'a Readers) -> Self {
        Self { readers }
    }

    /// All objects of kind `C` that decode.
    ///
    /// # Errors
    /// [`Error::NotWired`].
    pub fn list<C: Resource>(&self) -> Result<Vec<Arc<C>>, Error> {
        Ok(self.lister()?.list().items)
    }

    /// The object of kind `C` named `key`.
    ///
    /// # Errors
    /// [`Error::NotWired`]; [`Error::Undecodable`].
    pub fn get<C: Resource>(&self, key: &ObjectKey) -> Result<Option<Arc<C>>, Error> {
        self.lister()?.get(key).map_err(Error::Undecodable)
    }

    /// The cache of kind `C`, to look it through by namespace, owner or labels.
    ///
    /// # Errors
    /// [`Error::NotWired`].
    pub fn lister<C: Resource>(&self) -> Result<Lister<C>, Error> {
        let lister = self.readers.get(&ApiResource::of::<C>());
        lister.ok_or(Error::NotWired {
            verb: "look up",
            kind: C::KIND,
            line: "reads",
        })
    }

    /// The cache of a kind known only at run time.
    ///
    /// # Errors
    /// [`Error::NotWiredOf`] if `wire` does not name the kind, read as this type.
    pub fn lister_of<C: Object>(&self, resource: &ApiResource) -> Result<Lister<C>, Error> {
        let lister = self.readers.get(resource);
        lister.ok_or_else(|| Error::not_wired_of::<C>("look up", resource, "reads_of"))
    }
}
