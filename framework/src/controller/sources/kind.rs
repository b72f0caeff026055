use std::marker::PhantomData;

use serde::{Serialize, de::DeserializeOwned};

use super::{Inlet, wiring::Connection};
use crate::{
    cache::{Event, InformerClaim, Origin},
    controller::{Environment, Role, Wired},
    resource::{ApiResource, Object, Resource},
};

/// The kind that a source watches, read as `C`s.
pub(in crate::controller) struct Kind<C> {
    pub(super) resource: ApiResource,
    read_as: PhantomData<fn() -> C>,
}

impl<C: Resource> Kind<C> {
    /// One that is known at compile time.
    pub(in crate::controller) fn typed() -> Self {
        Self::of(ApiResource::of::<C>())
    }
}

impl<C> Kind<C> {
    pub(in crate::controller) fn of(resource: ApiResource) -> Self {
        Self {
            resource,
            read_as: PhantomData,
        }
    }

    pub(super) fn wired(&self, role: Role) -> Option<Wired> {
        let resource = self.resource.clone();
        Some(Wired { resource, role })
    }
}

impl<C: Object + Serialize + DeserializeOwned> Kind<C> {
    /// Makes the kind readable without a server, and gives what fills its cache.
    #[cfg(feature = "dev")]
    pub(super) fn offline(
        &self,
        readers: &crate::controller::readers::Readers,
    ) -> Option<crate::controller::offline::Refill> {
        let refill = crate::controller::offline::refill::<C>(&self.resource, readers);
        Some(refill)
    }

    /// Its informer, as long as it is needed.
    fn claim(&self, environment: &Environment) -> InformerClaim<C> {
        let resource = self.resource.clone();
        environment.informers.claim(resource, environment.scope())
    }

    /// A source that only makes it readable.
    pub(super) fn read<K: Resource>(
        &self,
        environment: &Environment,
        inlet: &Inlet<K>,
    ) -> Connection {
        Connection::reading(self.claim(environment), inlet)
    }

    /// A source that makes it readable and listens to it, in the controller's name.
    pub(super) fn listen<K: Resource>(
        &self,
        environment: &Environment,
        inlet: &Inlet<K>,
        listener: impl FnMut(&Event<C>, Origin) + Send + 'static,
    ) -> Connection {
        let claim = self.claim(environment);
        let subscription = claim.add_listener_with_origin(inlet.name.as_str(), listener);
        Connection::listening(claim, subscription, inlet)
    }
}
