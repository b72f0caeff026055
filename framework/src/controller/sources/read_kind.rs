use serde::{Serialize, de::DeserializeOwned};

use super::{
    enqueuer::Enqueuer,
    kind::{Kind, KindWiring},
    wiring::Connection,
};
use crate::{
    controller::{environment::Environment, wired::Role},
    resource::{Object, Resource},
};

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

    fn connect<K: Resource>(self, environment: &Environment, enqueuer: &Enqueuer<K>) -> Connection {
        self.0.read(environment, enqueuer)
    }
}
