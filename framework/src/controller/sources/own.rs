use std::sync::Arc;

use super::{
    passes::passes,
    wiring::{Connection, Wiring, informer, listen},
};
use crate::{
    cache::Event,
    controller::{Environment, Predicate, Role, Wired, hub::Hub, readers::Readers},
    resource::{ApiResource, Resource},
};

/// The reconciled kind.
pub(in crate::controller) struct Own<K> {
    pub(in crate::controller) predicate: Option<Predicate<K>>,
}

impl<K: Resource> Wiring<K> for Own<K> {
    fn wired(&self) -> Wired {
        Wired {
            resource: ApiResource::of::<K>(),
            role: Role::Reconciled,
        }
    }

    fn read(&self, environment: &Environment, readers: &Readers) {
        readers.insert(informer::<K>(environment).lister());
    }

    fn connect(self: Box<Self>, environment: &Environment, hub: &Arc<Hub<K>>) -> Connection {
        let (at, hub) = (hub.clone(), hub.clone());
        listen(environment, &at, move |event: &Event<K>| {
            let counts = match event {
                Event::Updated { old, new } => {
                    passes(&hub, self.predicate.as_ref(), old, new) && !hub.is_echo(old, new)
                }
                _ => true,
            };
            if counts {
                hub.queue.add(event.key());
            }
        })
    }
}
