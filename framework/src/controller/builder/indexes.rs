use std::any::TypeId;

use serde::{Serialize, de::DeserializeOwned};

use super::{controller::Controller, reconciler::Reconciler};
use crate::{
    controller::{
        caches::{IndexFunction, index_id},
        error::Error,
        sources::{DeclaredIndex, Mapping, Watched},
    },
    resource::{ApiResource, Object, ObjectKey, Resource},
};

/// Indexes: objects found by values, without a look at all objects.
impl<R: Reconciler> Controller<R> {
    /// Objects of kind `C` are found by the values that `index` returns. The function itself is the name of the index. The kind
    /// is the reconciled kind, or one that `wire` owns, watches or reads.
    ///
    /// [`Context::indexed`](crate::controller::Context::indexed) queries the index in a reconcile, and
    /// [`Lookup::indexed`](crate::controller::Lookup::indexed) in mappings and predicates. An index spans all namespaces: a value
    /// that means something only in one namespace has to name the namespace, as an [`ObjectKey`] does.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pilothouse::controller::{Action, Context, Controller, Reconciler, Result};
    /// use pilothouse::k8s::api::core::v1::{Node, Pod};
    /// use pilothouse::resource::Object;
    ///
    /// /// The node of a Pod.
    /// fn node(pod: &Pod) -> Option<String> {
    ///     pod.spec.as_ref()?.node_name.clone()
    /// }
    /// # struct Nodes;
    /// # impl Reconciler for Nodes {
    /// #     type Resource = Node;
    ///
    /// fn wire(&self, controller: Controller<Self>) -> Controller<Self> {
    ///     controller.reads::<Pod>().index(node)
    /// }
    ///
    /// async fn reconcile(&self, object: Arc<Node>, cx: &Context<Node>) -> Result<Action> {
    ///     let pods = cx.indexed(node, object.name())?.items;
    ///     println!("{} pods on {}", pods.len(), object.name());
    ///     Ok(Action::wait())
    /// }
    /// # }
    /// ```
    ///
    /// The function runs once for each version of an object, when the version enters the cache. If it panics, this is
    /// counted and logged, and the index leaves the object out until its next version. An object that does not decode keeps the values of its
    /// last version that decoded. If no version ever decoded, it is found, as an error, under every value.
    ///
    /// A controller that declares an index of a kind that `wire` does not declare [does not start](Self::check).
    #[track_caller]
    pub fn index<C: Resource>(self, index: impl IndexFunction<C>) -> Self {
        self.declare_index(&ApiResource::of::<C>(), true, index)
    }

    /// As [`index`](Self::index), for a kind that is known only at run time. Its objects are read as `C`.
    #[track_caller]
    pub fn index_of<C>(self, resource: &ApiResource, index: impl IndexFunction<C>) -> Self
    where
        C: Object + Serialize + DeserializeOwned,
    {
        self.declare_index(resource, false, index)
    }

    /// A change of an object of kind `C` leads to reconciles of the objects that name it: those that have its key in `index`, an
    /// index of the reconciled kind. This declares the index too.
    ///
    /// ```
    /// use pilothouse::controller::{Controller, Reconciler};
    /// use pilothouse::k8s::api::core::v1::{Secret, ServiceAccount};
    /// use pilothouse::resource::{Object, ObjectKey};
    ///
    /// /// The Secrets that a ServiceAccount names.
    /// fn secrets(account: &ServiceAccount) -> Vec<ObjectKey> {
    ///     let names = account.secrets.iter().flatten().filter_map(|secret| secret.name.as_deref());
    ///     names.map(|name| ObjectKey::new(account.namespace(), name)).collect()
    /// }
    ///
    /// fn wire<R: Reconciler<Resource = ServiceAccount>>(controller: Controller<R>) -> Controller<R> {
    ///     controller.watches_indexed::<Secret>(secrets)
    /// }
    /// ```
    ///
    /// With options, such as a predicate or only the metadata of the Secrets, declare the index by [`index`](Self::index) and
    /// the kind by `Watched::new(Mapping::indexed(secrets))`.
    #[track_caller]
    pub fn watches_indexed<C: Resource>(
        self,
        index: impl IndexFunction<R::Resource, Value = ObjectKey>,
    ) -> Self
    where
        R::Resource: Resource,
    {
        self.index(index)
            .watch(Watched::<C>::new(Mapping::indexed(index)))
    }

    #[track_caller]
    fn declare_index<C, F>(mut self, resource: &ApiResource, typed: bool, index: F) -> Self
    where
        C: Object + Serialize + DeserializeOwned,
        F: IndexFunction<C>,
    {
        let mut known = self.indexes.iter();
        if !known.any(|one| one.is(index_id::<F>(), resource)) {
            let declared = DeclaredIndex::<C, F>::new(resource, typed, index);
            self.indexes.push(Box::new(declared));
        }
        self
    }

    /// # Errors
    /// [`Error::NotWired`] if the kind of an index is not wired.
    pub(super) fn check_indexes(&self) -> Result<(), Error> {
        let is_wired = |id: TypeId, resource: &ApiResource| self.is_read_as(id, resource);
        let mut indexes = self.indexes.iter();
        match indexes.find(|one| !is_wired(one.read_as(), one.resource())) {
            Some(index) => Err(index.not_wired()),
            None => Ok(()),
        }
    }
}
