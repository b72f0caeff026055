use std::{borrow::Borrow, hash::Hash};

use serde::de::DeserializeOwned;

use super::context::Context;
use crate::{
    cache::{Listing, ValueListing},
    controller::{
        caches::{IndexFunction, index_handle},
        error::Error,
        reconcilable::Reconcilable,
    },
    resource::{ApiResource, Object, Resource},
};

/// Reads by the indexes that [`Controller::index`](crate::controller::Controller::index) declares.
impl<K: Reconcilable> Context<K> {
    /// The cached objects that have `value` in `index`, of all namespaces. Objects that do not decode are listed separately.
    ///
    /// ```
    /// # use pilothouse::{controller::{Context, Error}, k8s::api::core::v1::{Node, Pod}, resource::Object};
    /// # fn node(pod: &Pod) -> Option<String> { pod.spec.as_ref()?.node_name.clone() }
    /// # fn example(cx: &Context<Node>) -> Result<(), Error> {
    /// // With `controller.reads::<Pod>().index(node)` in `wire`.
    /// for pod in cx.indexed(node, "node-1")?.items {
    ///     println!("{}", pod.key());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// * [`Error::NotWired`] if `wire` does not declare the kind.
    /// * [`Error::NotIndexed`] if `wire` does not declare the index.
    pub fn indexed<C, Q>(
        &self,
        index: impl IndexFunction<C, Value: Borrow<Q>>,
        value: &Q,
    ) -> Result<Listing<C>, Error>
    where
        C: Resource,
        Q: Hash + Eq + ?Sized,
    {
        let lister = self.lister()?;
        let caches = &self.shared.controller.caches;
        let handle = index_handle("list", caches, &ApiResource::of::<C>(), index, true)?;
        Ok(lister.by(&handle, value))
    }

    /// As [`indexed`](Self::indexed), for a kind that is known only at run time.
    ///
    /// # Errors
    /// * [`Error::NotWired`] if `wire` does not declare the kind, read as `C`.
    /// * [`Error::NotIndexed`] if `wire` does not declare the index.
    pub fn indexed_of<C, Q>(
        &self,
        resource: &ApiResource,
        index: impl IndexFunction<C, Value: Borrow<Q>>,
        value: &Q,
    ) -> Result<Listing<C>, Error>
    where
        C: Object + DeserializeOwned,
        Q: Hash + Eq + ?Sized,
    {
        let lister = self.lister_of(resource)?;
        let caches = &self.shared.controller.caches;
        let handle = index_handle("list", caches, resource, index, false)?;
        Ok(lister.by(&handle, value))
    }

    /// The values that cached objects have in `index`, each once, in no particular order. Objects that do not decode are listed
    /// separately, because they may have other values.
    ///
    /// # Errors
    /// * [`Error::NotWired`] if `wire` does not declare the kind.
    /// * [`Error::NotIndexed`] if `wire` does not declare the index.
    pub fn index_values<C, F>(&self, index: F) -> Result<ValueListing<F::Value>, Error>
    where
        C: Resource,
        F: IndexFunction<C>,
    {
        let lister = self.lister::<C>()?;
        let caches = &self.shared.controller.caches;
        let handle = index_handle("list", caches, &ApiResource::of::<C>(), index, true)?;
        Ok(lister.values(&handle))
    }

    /// As [`index_values`](Self::index_values), for a kind that is known only at run time.
    ///
    /// # Errors
    /// * [`Error::NotWired`] if `wire` does not declare the kind, read as `C`.
    /// * [`Error::NotIndexed`] if `wire` does not declare the index.
    pub fn index_values_of<C, F>(
        &self,
        resource: &ApiResource,
        index: F,
    ) -> Result<ValueListing<F::Value>, Error>
    where
        C: Object + DeserializeOwned,
        F: IndexFunction<C>,
    {
        let lister = self.lister_of::<C>(resource)?;
        let caches = &self.shared.controller.caches;
        let handle = index_handle("list", caches, resource, index, false)?;
        Ok(lister.values(&handle))
    }
}
