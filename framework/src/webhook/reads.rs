use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::Arc,
};

use super::{Denied, Webhook};
use crate::{
    cache::{InformerScope, Informers, Lister, SharedInformer},
    controller::{Reconcilable, Role, RuntimeKind, Wired},
    events::Recorder,
    resource::{Access, ApiResource, Resource},
};

/// The kinds that a webhook reads from caches. They are the caches that controllers use, too, so a kind that a controller watches costs
/// nothing more.
#[derive(Clone, Default)]
#[must_use]
pub struct Reads(Vec<ReadKind>);

#[derive(Clone)]
struct ReadKind {
    resource: ApiResource,
    /// The type that the objects are read as.
    read_as: TypeId,
    connect: fn(&Informers, ApiResource, InformerScope) -> Box<dyn Any + Send + Sync>,
}

impl Reads {
    /// The webhook reads objects of kind `C`: with [`Admission::get`](super::Admission::get) and
    /// [`Admission::lister`](super::Admission::lister).
    pub fn kind<C: Resource>(self) -> Self {
        self.and::<C>(ApiResource::of::<C>())
    }

    /// The webhook reads objects of a kind that is known only at run time, as `C`: a
    /// [`DynamicObject`](crate::resource::DynamicObject), or a [`PartialObject`](crate::resource::PartialObject) if the metadata is
    /// enough. [`Admission::dynamic_get`](super::Admission::dynamic_get) and
    /// [`Admission::dynamic_lister`](super::Admission::dynamic_lister) read them.
    pub fn dynamic<C: RuntimeKind>(self, resource: ApiResource) -> Self {
        self.and::<C>(resource)
    }

    fn and<C: Reconcilable>(mut self, resource: ApiResource) -> Self {
        self.0.push(ReadKind {
            resource,
            read_as: TypeId::of::<C>(),
            connect: |informers, resource, scope| Box::new(informers.of::<C>(resource, scope)),
        });
        self
    }

    /// The kinds.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &ApiResource> {
        self.0.iter().map(|kind| &kind.resource)
    }

    /// The access that the caches need.
    pub(super) fn access(&self) -> Access {
        let access = self.kinds().map(|resource| {
            // The cache records an Event about an object that it cannot decode.
            let events = Recorder::access_about(resource.namespaced);
            let (resource, role) = (resource.clone(), Role::Read);
            Wired { resource, role }.access().and(events)
        });
        access.sum()
    }
}

impl fmt::Debug for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = self.kinds().map(ApiResource::qualified_plural);
        f.debug_list().entries(kinds).finish()
    }
}

/// The caches that the webhooks of an operator read.
#[derive(Clone, Default)]
pub(crate) struct ReadCaches(Arc<HashMap<(ApiResource, TypeId), Box<dyn Any + Send + Sync>>>);

impl ReadCaches {
    /// Requests the caches of all webhooks. The caller starts the informers.
    pub(crate) fn of(webhooks: &[Webhook], informers: &Informers, scope: &InformerScope) -> Self {
        let kinds = webhooks.iter().flat_map(|webhook| &webhook.reads.0);
        let caches = kinds.map(|kind| {
            let resource = kind.resource.clone();
            let informer = (kind.connect)(informers, resource.clone(), scope.clone());
            ((resource, kind.read_as), informer)
        });
        Self(Arc::new(caches.collect()))
    }

    /// The cache of a kind, when it has synced. `declaration` is what the webhook has to call in its function `reads`.
    pub(super) async fn lister<C: Reconcilable>(
        &self,
        resource: ApiResource,
        declaration: impl Fn(&ApiResource) -> String,
    ) -> Result<Lister<C>, Denied> {
        let cannot = |problem: String| {
            let message = format!("the webhook cannot decide: {problem}");
            Denied::with(500, "InternalError", message)
        };
        let key = (resource, TypeId::of::<C>());
        let informer = self.0.get(&key);
        let informer = informer.and_then(|one| one.downcast_ref::<SharedInformer<C>>());
        let informer = informer.ok_or_else(|| {
            let (kind, declaration) = (&key.0.kind, declaration(&key.0));
            cannot(format!(
                "it reads {kind} objects, but does not declare it: add `{declaration}` to its function `reads`"
            ))
        })?;
        match informer.synced().await {
            true => Ok(informer.lister()),
            false => Err(cannot(format!("the cache of {} has ended", key.0.plural))),
        }
    }
}

impl fmt::Debug for ReadCaches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadCaches({})", self.0.len())
    }
}
