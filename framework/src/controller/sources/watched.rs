use std::any::TypeId;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Inlet, Kind, Mapping,
    passes::{passes, priority},
    wiring::{Connection, Wiring},
};
use crate::{
    cache::Event,
    controller::{Change, Environment, Predicate, Role, Wired, causes::Cause},
    resource::{Object, Resource},
};

/// A kind whose objects concern reconciled ones by a mapping.
pub(in crate::controller) struct Watched<C> {
    pub(in crate::controller) kind: Kind<C>,
    pub(in crate::controller) map: Mapping<C>,
    pub(in crate::controller) predicate: Option<Predicate<C>>,
}

impl<K, C> Wiring<K> for Watched<C>
where
    K: Resource,
    C: Object + Serialize + DeserializeOwned,
{
    fn wired(&self) -> Option<Wired> {
        self.kind.wired(Role::Watched)
    }

    fn read_as(&self) -> Option<TypeId> {
        Some(TypeId::of::<C>())
    }

    #[cfg(feature = "dev")]
    fn offline(
        &self,
        readers: &crate::controller::readers::Readers,
    ) -> Option<crate::controller::offline::Refill> {
        self.kind.offline(readers)
    }

    fn connect(self: Box<Self>, environment: &Environment, inlet: &Inlet<K>) -> Connection {
        let hub = inlet.clone();
        let Self {
            kind,
            map,
            predicate,
        } = *self;
        let name = kind.resource.kind.clone();
        kind.listen(environment, inlet, move |event: &Event<C>, origin| {
            for change in Change::of(event) {
                let lost = matches!(event, Event::Undecodable { .. });
                if lost || passes(&hub, predicate.as_ref(), &change) {
                    for key in map.keys(&name, &hub, &change) {
                        hub.ask(key, priority(origin), Cause::Watched);
                    }
                }
            }
        })
    }
}
