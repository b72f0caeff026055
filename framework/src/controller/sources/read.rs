use std::any::TypeId;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Inlet, Kind,
    wiring::{Connection, Wiring},
};
use crate::{
    controller::{Environment, Role, Wired},
    resource::{Object, Resource},
};

/// A kind that is only read.
pub(in crate::controller) struct Read<C>(pub(in crate::controller) Kind<C>);

impl<K, C> Wiring<K> for Read<C>
where
    K: Resource,
    C: Object + Serialize + DeserializeOwned,
{
    fn wired(&self) -> Option<Wired> {
        self.0.wired(Role::Read)
    }

    fn read_as(&self) -> Option<TypeId> {
        Some(TypeId::of::<C>())
    }

    #[cfg(feature = "dev")]
    fn offline(
        &self,
        readers: &crate::controller::readers::Readers,
    ) -> Option<crate::controller::offline::Refill> {
        self.0.offline(readers)
    }

    fn connect(self: Box<Self>, environment: &Environment, inlet: &Inlet<K>) -> Connection {
        self.0.read(environment, inlet)
    }
}
