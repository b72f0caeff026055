use std::{borrow::Borrow, hash::Hash, sync::Arc};

use super::{IndexFunction, WiredCaches, index_function::index_name};
use crate::{
    cache::{IndexHandle, Lister},
    controller::error::{Error, MissingLine},
    resource::{ApiResource, Object, ObjectKey, Resource},
};

/// The caches of the wired kinds, for mappings and predicates that look something up.
///
/// While the controller starts the caches may not be complete. No change is lost by this: every object of the reconciled
/// kind is reconciled once when all caches have synced, and [predicates](crate::controller::Predicate::changes_with) are not
/// asked before.
#[derive(Debug)]
pub struct Lookup<'a> {
    caches: &'a WiredCaches,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(caches: &'a WiredCaches) -> Self {
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

    /// The objects that have `value` in an [index](crate::controller::Controller::index), of all namespaces, and that decode.
    ///
    /// # Errors
    /// [`Error::NotIndexed`] if `wire` does not declare the index, and [`Error::NotWired`] if it does not declare the kind.
    pub fn indexed<C, Q>(
        &self,
        index: impl IndexFunction<C, Value: Borrow<Q>>,
        value: &Q,
    ) -> Result<Vec<Arc<C>>, Error>
    where
        C: Resource,
        Q: Hash + Eq + ?Sized,
    {
        let lister = self.lister()?;
        let handle = index_handle("look up", self.caches, &ApiResource::of::<C>(), index, true)?;
        Ok(lister.by(&handle, value).items)
    }

    /// As [`indexed`](Self::indexed), for a kind that is known only at run time.
    ///
    /// # Errors
    /// [`Error::NotIndexed`] if `wire` does not declare the index, and [`Error::NotWired`] if it does not declare the kind,
    /// read as `C`.
    pub fn indexed_of<C, Q>(
        &self,
        resource: &ApiResource,
        index: impl IndexFunction<C, Value: Borrow<Q>>,
        value: &Q,
    ) -> Result<Vec<Arc<C>>, Error>
    where
        C: Object,
        Q: Hash + Eq + ?Sized,
    {
        let lister = self.lister_of(resource)?;
        let handle = index_handle("look up", self.caches, resource, index, false)?;
        Ok(lister.by(&handle, value).items)
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

/// What a cache is queried with for the index of a function. `typed` tells whether the kind is known at compile time.
pub(crate) fn index_handle<C: Object, F: IndexFunction<C>>(
    verb: &'static str,
    caches: &WiredCaches,
    resource: &ApiResource,
    _: F,
    typed: bool,
) -> Result<IndexHandle<C, F::Value>, Error> {
    let declared = caches.index::<C, F>(resource);
    declared.ok_or_else(|| Error::not_indexed(verb, resource, &index_name::<F>(), typed))
}
