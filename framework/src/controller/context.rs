use std::{collections::BTreeSet, fmt, sync::Arc};

use tokio_util::sync::CancellationToken;

use super::{
    Error, Sources, apply_detached::Claims, cancellation::Cancellation, children::Children,
    finalizers::Finalizers, fingerprints::Fingerprints, hub::Hub, last_status::LastStatus,
    wanted::Wanted,
};
use crate::{
    cache::{Lister, Listing},
    client::Client,
    events::Recorder,
    resource::{ApiResource, Object, ObjectKey, Resource, Scope},
};

/// What a reconcile works with: the caches of the wired kinds, and the writes that know the
/// reconciled object.
///
/// Reads come from the caches and never wait. A kind that `wire` does not name is an error that says which
/// line to add; it never starts a watch.
pub struct Context<K> {
    pub(super) key: ObjectKey,
    /// `None` when the object is gone.
    pub(super) object: Option<Arc<K>>,
    /// Number of this run, to tell what it applied from what an earlier one did.
    pub(super) run: u64,
    pub(super) cancellation: Cancellation,
    pub(super) shared: OwnCount<Shared<K>>,
    /// What it writes is not waited for.
    pub(super) uncached: bool,
    /// The children that this run asked for.
    pub(super) wanted: Wanted,
    /// The status that this run wrote last.
    pub(super) last_status: LastStatus,
    /// The finalizer that is to go.
    pub(super) finalizer: Option<Arc<str>>,
}

/// What is shared by a count that is a worker's own: that of the inner one would be changed by all workers all the time.
#[allow(clippy::redundant_allocation)]
pub(super) type OwnCount<T> = Arc<Arc<T>>;

/// What all contexts of a controller have in common.
pub(super) struct Shared<K> {
    pub(super) hub: Arc<Hub>,
    /// The reconciled kind's cache.
    pub(super) own: Lister<K>,
    pub(super) client: Client,
    pub(super) events: Recorder,
    pub(super) field_manager: String,
    pub(super) fingerprints: Fingerprints,
    pub(super) children: Children<K>,
    pub(super) finalizers: Finalizers<K>,
    pub(super) claims: Claims,
    /// The namespaces that are watched; none means all.
    pub(super) namespaces: BTreeSet<String>,
    pub(super) sources: Sources<K>,
    /// The controller begins to stop.
    pub(super) stop: CancellationToken,
}

impl<K: Resource> Context<K> {
    /// The key that is reconciled.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// Within [`Cleanup::cleanup`](super::Cleanup::cleanup) the finalizer that goes when it has succeeded.
    pub fn finalizer(&self) -> Option<&str> {
        self.finalizer.as_deref()
    }

    /// The same run, of a newer version of the object.
    pub(super) fn of(&self, object: Arc<K>) -> Self {
        Self {
            key: self.key.clone(),
            object: Some(object),
            run: self.run,
            cancellation: self.cancellation.lend(&self.shared.stop),
            shared: self.shared.clone(),
            uncached: self.uncached,
            wanted: self.wanted.clone(),
            last_status: self.last_status.clone(),
            finalizer: None,
        }
    }

    /// Ends when the controller begins to stop, and with this call, however that ends: done, failed, panicked,
    /// timed out or outdated. For what may take long, to end early on a stop; and for tasks that must not
    /// outlive the call, since they are not dropped with it.
    pub fn cancellation(&self) -> &CancellationToken {
        self.cancellation.token(&self.shared.stop)
    }

    /// Adds sources to the controller, for good or until they are removed.
    pub fn sources(&self) -> &Sources<K> {
        &self.shared.sources
    }

    /// A client that asks the API server, past the caches. It sends only what `wire` declares:
    /// [`client::Error::NotDeclared`](crate::client::Error::NotDeclared) names the line that is missing.
    pub fn live(&self) -> &Client {
        &self.shared.client
    }

    /// The cached object of that name, in the namespace of the reconciled object.
    ///
    /// # Errors
    /// [`Error::NotWired`]; [`Error::Undecodable`]; [`Error::NoNamespace`] for a namespaced kind
    /// when the reconciled one is cluster-scoped.
    pub fn get<C: Resource>(&self, name: &str) -> Result<Option<Arc<C>>, Error> {
        let key = self.beside("get", &ApiResource::of::<C>(), name)?;
        self.lookup(&key)
    }

    /// The cached object of that name in `namespace`.
    ///
    /// # Errors
    /// [`Error::NotWired`]; [`Error::Undecodable`].
    pub fn get_in<C>(&self, namespace: &str, name: &str) -> Result<Option<Arc<C>>, Error>
    where
        C: Resource<Scope = crate::resource::Namespaced>,
    {
        self.lookup(&ObjectKey::namespaced(namespace, name))
    }

    /// The cached objects of a kind: in the namespace of the reconciled object where both have
    /// one, otherwise all. Those that do not decode stand beside the others.
    ///
    /// # Errors
    /// [`Error::NotWired`].
    pub fn list<C: Resource>(&self) -> Result<Listing<C>, Error> {
        let lister = self.lister("list")?;
        Ok(match self.key.namespace() {
            Some(namespace) if C::Scope::NAMESPACED => lister.in_namespace(namespace),
            _ => lister.list(),
        })
    }

    /// The cached objects of a kind in `namespace`.
    ///
    /// # Errors
    /// [`Error::NotWired`].
    pub fn list_in<C>(&self, namespace: &str) -> Result<Listing<C>, Error>
    where
        C: Resource<Scope = crate::resource::Namespaced>,
    {
        Ok(self.lister("list")?.in_namespace(namespace))
    }

    /// The cached objects of a kind in all namespaces.
    ///
    /// # Errors
    /// [`Error::NotWired`].
    pub fn list_all<C: Resource>(&self) -> Result<Listing<C>, Error> {
        Ok(self.lister("list")?.list())
    }

    /// The cached objects of a kind that name the reconciled object as an owner.
    ///
    /// # Errors
    /// [`Error::NotWired`]; [`Error::Gone`] when the object is gone, and its UID with it.
    pub fn list_owned<C: Resource>(&self) -> Result<Listing<C>, Error> {
        let uid = self.owner("list")?.uid().unwrap_or_default();
        Ok(self.lister("list")?.by_owner(uid))
    }

    /// The cached object of a kind known only at run time: that of the name, in the namespace of the reconciled
    /// object where both have one.
    ///
    /// ```
    /// # use pilothouse::{controller::{Context, Error}, k8s::api::apps::v1::Deployment};
    /// use pilothouse::resource::{ApiResource, DynamicObject};
    ///
    /// # fn replicas(cx: &Context<Deployment>, widgets: &ApiResource) -> Result<Option<i64>, Error> {
    /// // With `controller.reads_of::<DynamicObject>(widgets)` in `wire`.
    /// let widget = cx.get_of::<DynamicObject>(widgets, "a")?;
    /// Ok(widget.and_then(|widget| widget.data.get("spec")?.get("replicas")?.as_i64()))
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotWiredOf`]; [`Error::Undecodable`].
    pub fn get_of<C: Object>(
        &self,
        resource: &ApiResource,
        name: &str,
    ) -> Result<Option<Arc<C>>, Error> {
        let lister = self.cache_of("get", resource)?;
        let namespace = self.key.namespace().filter(|_| resource.namespaced);
        let object = lister.get(&ObjectKey::new(namespace, name));
        object.map_err(Error::Undecodable)
    }

    /// The cache of a kind known only at run time, to look it through by name, namespace, owner or labels.
    ///
    /// # Errors
    /// [`Error::NotWiredOf`].
    pub fn lister_of<C: Object>(&self, resource: &ApiResource) -> Result<Lister<C>, Error> {
        self.cache_of("list", resource)
    }

    fn cache_of<C: Object>(
        &self,
        verb: &'static str,
        resource: &ApiResource,
    ) -> Result<Lister<C>, Error> {
        let lister = self.shared.hub.readers.get(resource);
        lister.ok_or_else(|| Error::not_wired_of::<C>(verb, resource, "reads_of"))
    }

    fn lookup<C: Resource>(&self, key: &ObjectKey) -> Result<Option<Arc<C>>, Error> {
        self.lister("get")?.get(key).map_err(Error::Undecodable)
    }

    fn lister<C: Resource>(&self, verb: &'static str) -> Result<Lister<C>, Error> {
        self.cache::<C>().ok_or(Error::NotWired {
            verb,
            kind: C::KIND,
            line: "reads",
        })
    }

    pub(super) fn cache<C: Resource>(&self) -> Option<Lister<C>> {
        self.shared.hub.readers.get::<C>(&ApiResource::of::<C>())
    }

    /// The key of `name` beside the reconciled object.
    pub(super) fn beside(
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

    /// The reconciled object, which alone can own and have a status.
    pub(super) fn owner(&self, verb: &'static str) -> Result<&Arc<K>, Error> {
        self.object.as_ref().ok_or_else(|| Error::Gone {
            verb,
            kind: K::KIND,
            key: self.key.clone(),
        })
    }
}

impl<K> fmt::Debug for Context<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
