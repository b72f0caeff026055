use std::{any::TypeId, marker::PhantomData};

use serde::{Serialize, de::DeserializeOwned};

#[cfg(feature = "dev")]
use super::fixed_cache::FixedCache;
use super::{
    enqueuer::Enqueuer,
    wiring::{Connection, Wiring},
};
use crate::{
    cache::{Event, EventOrigin, InformerGuard},
    controller::{
        caches::{WiredCaches, find_children},
        environment::Environment,
        owners::OWNER_UID_LABEL,
        reconcilable::Reconcilable,
        wired::{Role, Wired},
    },
    resource::{ApiResource, Object, Resource},
};

/// A kind whose objects are read as `C`.
pub(crate) struct Kind<C> {
    pub(super) resource: ApiResource,
    /// Whether each object is read, and not only its metadata.
    reads_objects: bool,
    read_as: PhantomData<fn() -> C>,
}

impl<C: Resource> Kind<C> {
    /// A kind that is known at compile time.
    pub(super) fn typed() -> Self {
        Self::of(ApiResource::of::<C>())
    }
}

impl<C> Kind<C> {
    pub(super) fn of(resource: ApiResource) -> Self {
        Self {
            resource,
            reads_objects: false,
            read_as: PhantomData,
        }
    }

    /// The same kind, of which each object is read if `reads_objects`, so that small ones are decoded when they arrive.
    pub(super) fn reading_objects(self, reads_objects: bool) -> Self {
        Self {
            reads_objects,
            ..self
        }
    }

    pub(super) fn wired(&self, role: Role) -> Option<Wired> {
        let resource = self.resource.clone();
        Some(Wired { resource, role })
    }
}

impl<C: Object + Serialize + DeserializeOwned> Kind<C> {
    /// The informer of the kind. It runs as long as the claim is held.
    fn claim_informer(&self, environment: &Environment) -> InformerGuard<C> {
        let resource = self.resource.clone();
        environment.informers.acquire(resource, environment.scope())
    }

    /// A source that only makes the kind readable.
    pub(super) fn read<K: Reconcilable>(
        &self,
        environment: &Environment,
        enqueuer: &Enqueuer<K>,
    ) -> Connection {
        Connection::reading(self.claim_informer(environment), enqueuer)
    }

    /// A source that makes the kind readable and listens to its events.
    pub(super) fn listen<K: Reconcilable>(
        &self,
        environment: &Environment,
        enqueuer: &Enqueuer<K>,
        listener: impl FnMut(&Event<C>, EventOrigin) + Send + 'static,
    ) -> Connection {
        let claim = self.claim_informer(environment);
        if self.reads_objects {
            claim.expect_reads();
        }
        let subscription = claim.add_listener_with_origin(enqueuer.name.as_str(), listener);
        Connection::listening(claim, subscription, enqueuer)
    }
}

/// A source that reads a kind: the part of its [`Wiring`] that depends on the sort of kind.
pub(super) trait KindWiring: Send + 'static {
    /// The type that the objects are read as.
    type Object: Object + Serialize + DeserializeOwned;
    const ROLE: Role;

    fn kind(&self) -> &Kind<Self::Object>;

    /// As [`Wiring::connect`].
    fn connect<K: Reconcilable>(
        self,
        environment: &Environment,
        enqueuer: &Enqueuer<K>,
    ) -> Connection;
}

impl<K: Reconcilable, W: KindWiring> Wiring<K> for W {
    fn wired(&self) -> Option<Wired> {
        self.kind().wired(W::ROLE)
    }

    fn read_as(&self) -> Option<TypeId> {
        Some(TypeId::of::<W::Object>())
    }

    #[cfg(feature = "dev")]
    fn fixed_cache(&self, caches: &WiredCaches) -> Option<FixedCache> {
        note_owned::<W>(&self.kind().resource, caches);
        Some(FixedCache::new::<W::Object>(&self.kind().resource, caches))
    }

    fn connect(self: Box<Self>, environment: &Environment, enqueuer: &Enqueuer<K>) -> Connection {
        note_owned::<W>(&self.kind().resource, &enqueuer.caches);
        KindWiring::connect(*self, environment, enqueuer)
    }
}

fn note_owned<W: KindWiring>(resource: &ApiResource, caches: &WiredCaches) {
    if W::ROLE == Role::Owned {
        caches.set_owned(resource, |caches, resource, uid| {
            find_children::<W::Object>(caches, resource, uid, OWNER_UID_LABEL)
        });
    }
}

/// A kind that is only read.
pub(super) struct ReadKind<C>(pub(super) Kind<C>);

impl<C> KindWiring for ReadKind<C>
where
    C: Object + Serialize + DeserializeOwned,
{
    type Object = C;
    const ROLE: Role = Role::Read;

    fn kind(&self) -> &Kind<C> {
        &self.0
    }

    fn connect<K: Reconcilable>(
        self,
        environment: &Environment,
        enqueuer: &Enqueuer<K>,
    ) -> Connection {
        self.0.read(environment, enqueuer)
    }
}
