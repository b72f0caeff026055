use std::marker::PhantomData;

use super::{
    Inlet,
    wiring::{Connection, Wiring},
};
use crate::{
    controller::{Environment, Role, Wired},
    resource::{ApiResource, Resource},
};

/// A kind that is only read.
pub(in crate::controller) struct Read<C>(pub(in crate::controller) PhantomData<fn() -> C>);

impl<K: Resource, C: Resource> Wiring<K> for Read<C> {
    fn wired(&self) -> Option<Wired> {
        Some(Wired {
            resource: ApiResource::of::<C>(),
            role: Role::Read,
        })
    }

    #[cfg(feature = "dev")]
    fn offline(
        &self,
        readers: &crate::controller::readers::Readers,
    ) -> Option<crate::controller::offline::Refill> {
        Some(crate::controller::offline::refill::<C>(readers))
    }

    fn connect(self: Box<Self>, environment: &Environment, inlet: &Inlet<K>) -> Connection {
        Connection::reading::<C, K>(environment, inlet)
    }
}
