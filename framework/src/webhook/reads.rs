use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::Arc,
};

use super::{Denied, Webhook};
use crate::{
    cache::{InformerScope, Informers, Lister, SharedInformer},
    controller::{Role, Wired},
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
    connect: fn(&Informers, InformerScope) -> Cached,
}

/// A type and its [`SharedInformer`].
type Cached = (TypeId, Box<dyn Any + Send + Sync>);

impl Reads {
    /// The webhook reads objects of kind `C`: with [`Admission::get`](super::Admission::get) and
    /// [`Admission::lister`](super::Admission::lister).
    pub fn kind<C: Resource>(mut self) -> Self {
        self.0.push(ReadKind {
            resource: ApiResource::of::<C>(),
            connect: |informers, scope| {
                let informer = informers.informer::<C>(scope);
                (TypeId::of::<C>(), Box::new(informer))
            },
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
pub(crate) struct ReadCaches(Arc<HashMap<TypeId, Box<dyn Any + Send + Sync>>>);

impl ReadCaches {
    /// Requests the caches of all webhooks. The caller starts the informers.
    pub(crate) fn of(webhooks: &[Webhook], informers: &Informers, scope: &InformerScope) -> Self {
        let kinds = webhooks.iter().flat_map(|webhook| &webhook.reads.0);
        let caches = kinds.map(|kind| (kind.connect)(informers, scope.clone()));
        Self(Arc::new(caches.collect()))
    }

    /// The cache of a kind, when it has synced.
    pub(super) async fn lister<C: Resource>(&self) -> Result<Lister<C>, Denied> {
        let cannot = |problem: String| {
            let message = format!("the webhook cannot decide: {problem}");
            Denied::with(500, "InternalError", message)
        };
        let informer = self.0.get(&TypeId::of::<C>());
        let informer = informer.and_then(|one| one.downcast_ref::<SharedInformer<C>>());
        let informer = informer.ok_or_else(|| {
            let kind = C::KIND;
            cannot(format!(
                "it reads {kind} objects, but does not declare it: add `reads.kind::<{kind}>()` to its function `reads`"
            ))
        })?;
        match informer.synced().await {
            true => Ok(informer.lister()),
            false => Err(cannot(format!("the cache of {} has ended", C::PLURAL))),
        }
    }
}

impl fmt::Debug for ReadCaches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadCaches({})", self.0.len())
    }
}
