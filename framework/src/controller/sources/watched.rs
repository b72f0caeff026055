use super::{
    Inlet, Mapping,
    passes::{passes, priority},
    wiring::{Connection, Wiring},
};
use crate::{
    cache::Event,
    controller::{Change, Environment, Predicate, Role, Wired, causes::Cause},
    resource::{ApiResource, Resource},
};

/// A kind whose objects concern reconciled ones by a mapping.
pub(in crate::controller) struct Watched<C> {
    pub(in crate::controller) map: Mapping<C>,
    pub(in crate::controller) predicate: Option<Predicate<C>>,
}

impl<K: Resource, C: Resource> Wiring<K> for Watched<C> {
    fn wired(&self) -> Option<Wired> {
        Some(Wired {
            resource: ApiResource::of::<C>(),
            role: Role::Watched,
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
        let hub = inlet.clone();
        Connection::listening(environment, inlet, move |event: &Event<C>| {
            for change in Change::of(event) {
                let lost = matches!(event, Event::Undecodable { .. });
                if lost || passes(&hub, self.predicate.as_ref(), &change) {
                    for key in self.map.keys(&hub, &change) {
                        hub.ask(key, priority(&change), Cause::Watched);
                    }
                }
            }
        })
    }
}
