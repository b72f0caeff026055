use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::context::Context;
use crate::{
    cache::{Lister, Listing},
    controller::{
        error::{Error, MissingLine},
        reconcilable::Reconcilable,
    },
    resource::{ApiResource, Namespaced, Object, ObjectKey, Resource, Scope},
};

/// Reads from the caches. They show what this call has written through its `Context`, as the server answered, until the cache
/// has that version or a later one. What [`uncached`](Context::uncached) writes, and what a `PartialObject` patches, is shown only
/// by the cache.
///
/// A list leaves out the objects that do not decode. After a call that read such an object nothing is pruned:
/// [`Controller::prunes`](crate::controller::Controller::prunes).
impl<K: Reconcilable> Context<K> {
    /// The cached object of that name, in the namespace of the reconciled object. Returns `None` if the cache has none.
    ///
    /// # Errors
    /// * [`Error::NotWired`] if `wire` does not declare the kind.
    /// * [`Error::Undecodable`] if the object does not fit its Rust type.
    /// * [`Error::NoNamespace`] if the kind is namespaced and the reconciled object is cluster-scoped.
    pub fn get<C: Resource>(&self, name: &str) -> Result<Option<Arc<C>>, Error> {
        let key = self.key_beside("get", &ApiResource::of::<C>(), name)?;
        self.lookup(&key)
    }

    /// The cached object of that name in `namespace`. Returns `None` if the cache has none.
    ///
    /// # Errors
    /// * [`Error::NotWired`] if `wire` does not declare the kind.
    /// * [`Error::Undecodable`] if the object does not fit its Rust type.
    pub fn get_in<C>(&self, namespace: &str, name: &str) -> Result<Option<Arc<C>>, Error>
    where
        C: Resource<Scope = Namespaced>,
    {
        self.lookup(&ObjectKey::namespaced(namespace, name))
    }

    /// The cached objects of a kind: those in the namespace of the reconciled object if both kinds are namespaced,
    /// otherwise all. Objects that do not decode are listed separately.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not declare the kind.
    pub fn list<C: Resource>(&self) -> Result<Listing<C>, Error> {
        let lister = self.lister()?;
        Ok(match self.key.namespace() {
            Some(namespace) if C::Scope::NAMESPACED => lister.in_namespace(namespace),
            _ => lister.list(),
        })
    }

    /// The cached objects of a kind in `namespace`.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not declare the kind.
    pub fn list_in<C>(&self, namespace: &str) -> Result<Listing<C>, Error>
    where
        C: Resource<Scope = Namespaced>,
    {
        Ok(self.lister()?.in_namespace(namespace))
    }

    /// The cached objects of a kind in all namespaces.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not declare the kind.
    pub fn list_all<C: Resource>(&self) -> Result<Listing<C>, Error> {
        Ok(self.lister()?.list())
    }

    /// The cached objects of a kind that name the reconciled object as an owner. A namespaced object owns only objects in its
    /// namespace: others that name its UID are left out, as the garbage collector does.
    ///
    /// # Errors
    /// * [`Error::NotWired`] if `wire` does not declare the kind.
    /// * [`Error::Gone`] if the reconciled object is gone, and its UID with it.
    pub fn list_owned<C: Resource>(&self) -> Result<Listing<C>, Error> {
        let uid = self.owner("list")?.uid().unwrap_or_default();
        self.read_kinds.note(&ApiResource::of::<C>());
        let cache = self.cache::<C>();
        let cache = cache.ok_or_else(|| Error::not_wired("list", C::KIND, MissingLine::Owns))?;
        let cache = self.with_own_writes(cache, &ApiResource::of::<C>());
        let mut owned: Listing<C> = self.undecodable_reads.note_reads_of(cache).by_owner(uid);
        if let Some(namespace) = self.key.namespace() {
            owned
                .items
                .retain(|child| child.namespace() == Some(namespace));
            owned
                .undecodable
                .retain(|child| child.key.namespace() == Some(namespace));
        }
        Ok(owned)
    }

    /// The cached object of a kind that is known only at run time, by its name; in the namespace of the reconciled object if
    /// both kinds are namespaced.
    ///
    /// ```
    /// # use pilothouse::{controller::{Context, Error}, k8s::api::apps::v1::Deployment};
    /// use pilothouse::resource::{ApiResource, DynamicObject};
    ///
    /// # fn replicas(cx: &Context<Deployment>, widgets: &ApiResource) -> Result<Option<i64>, Error> {
    /// // With `controller.watch(Read::<DynamicObject>::dynamic(widgets))` in `wire`.
    /// let widget = cx.get_of::<DynamicObject>(widgets, "a")?;
    /// Ok(widget.and_then(|widget| widget.data.get("spec")?.get("replicas")?.as_i64()))
    /// # }
    /// ```
    ///
    /// # Errors
    /// * [`Error::NotWired`] if `wire` does not declare the kind, read as `C`.
    /// * [`Error::Undecodable`] if the object does not fit its Rust type.
    pub fn get_of<C>(&self, resource: &ApiResource, name: &str) -> Result<Option<Arc<C>>, Error>
    where
        C: Object + DeserializeOwned,
    {
        let lister = self.cache_of("get", resource)?;
        let lister = self.with_own_writes(lister, resource);
        let namespace = self.key.namespace().filter(|_| resource.namespaced);
        self.read(&lister, &ObjectKey::new(namespace, name))
    }

    /// The cache of a kind that is known only at run time, to search it by name, namespace, owner or labels.
    ///
    /// # Errors
    /// [`Error::NotWired`] if `wire` does not declare the kind, read as `C`.
    pub fn lister_of<C>(&self, resource: &ApiResource) -> Result<Lister<C>, Error>
    where
        C: Object + DeserializeOwned,
    {
        let lister = self.cache_of("list", resource)?;
        let lister = self.written.shown_by(lister, resource);
        Ok(self.undecodable_reads.note_reads_of(lister))
    }

    fn cache_of<C: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
    ) -> Result<Lister<C>, Error> {
        self.read_kinds.note(resource);
        let lister = self.shared.controller.caches.get(resource);
        lister.ok_or_else(|| Error::not_wired_dynamic::<C>(verb, resource, MissingLine::Reads))
    }

    fn lookup<C: Resource>(&self, key: &ObjectKey) -> Result<Option<Arc<C>>, Error> {
        self.read(&self.typed_cache("get")?, key)
    }

    fn read<C: Object>(
        &self,
        lister: &Lister<C>,
        key: &ObjectKey,
    ) -> Result<Option<Arc<C>>, Error> {
        let object = lister.get(key);
        object.map_err(|object| {
            self.undecodable_reads.note(&object);
            Error::Undecodable(object)
        })
    }

    /// The cache of a kind, to list its objects.
    pub(super) fn lister<C: Resource>(&self) -> Result<Lister<C>, Error> {
        let lister = self.typed_cache("list")?;
        Ok(self.undecodable_reads.note_reads_of(lister))
    }

    fn typed_cache<C: Resource>(&self, verb: &'static str) -> Result<Lister<C>, Error> {
        let resource = ApiResource::of::<C>();
        self.read_kinds.note(&resource);
        let not_wired = || Error::not_wired(verb, C::KIND, MissingLine::Reads);
        let cache = self.cache::<C>().ok_or_else(not_wired)?;
        Ok(self.with_own_writes(cache, &resource))
    }

    /// A lister for a read that happens now. Most calls have written nothing when they read.
    fn with_own_writes<C>(&self, lister: Lister<C>, resource: &ApiResource) -> Lister<C>
    where
        C: Object + DeserializeOwned,
    {
        match self.written.is_empty() {
            true => lister,
            false => self.written.shown_by(lister, resource),
        }
    }

    pub(super) fn cache<C: Resource>(&self) -> Option<Lister<C>> {
        self.shared
            .controller
            .caches
            .get::<C>(&ApiResource::of::<C>())
    }

    /// The key of an object of that name in the namespace of the reconciled object.
    pub(super) fn key_beside(
        &self,
        verb: &'static str,
        resource: &ApiResource,
        name: &str,
    ) -> Result<ObjectKey, Error> {
        if !resource.namespaced {
            return Ok(ObjectKey::cluster(name));
        }
        match self.key.namespace() {
            Some(namespace) => Ok(ObjectKey::namespaced(namespace, name)),
            None => Err(Error::NoNamespace {
                verb,
                kind: resource.kind.clone(),
                name: name.to_owned(),
            }),
        }
    }
}
