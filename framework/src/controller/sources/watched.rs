use std::sync::Arc;

use super::{
    passes::passes,
    wiring::{Connection, Wiring, informer, listen},
};
use crate::{
    cache::Event,
    controller::{Environment, Predicate, Role, Wired, hub::Hub, readers::Readers},
    resource::{ApiResource, ObjectKey, Resource},
};

/// A kind whose objects concern reconciled ones by a mapping.
pub(in crate::controller) struct Watched<C> {
    pub(in crate::controller) map: Box<Map<C>>,
    pub(in crate::controller) predicate: Option<Predicate<C>>,
}

pub(in crate::controller) type Map<C> = dyn Fn(&C) -> Vec<ObjectKey> + Send;

impl<K: Resource, C: Resource> Wiring<K> for Watched<C> {
    fn wired(&self) -> Wired {
        Wired {
            resource: ApiResource::of::<C>(),
            role: Role::Watched,
        }
    }

    fn read(&self, environment: &Environment, readers: &Readers) {
        readers.insert(informer::<C>(environment).lister());
    }

    #[cfg(feature = "dev")]
    fn offline(&self, readers: &Readers) -> Option<crate::controller::offline::Refill> {
        Some(crate::controller::offline::refill::<C>(readers))
    }

    fn connect(self: Box<Self>, environment: &Environment, hub: &Arc<Hub<K>>) -> Connection {
        let (at, hub) = (hub.clone(), hub.clone());
        listen(environment, &at, move |event| {
            let objects = match event {
                Event::Added { object, .. }
                | Event::Deleted { object, .. }
                | Event::Resync { object } => [Some(object), None],
                Event::Updated { old, new } => {
                    if !passes(&hub, self.predicate.as_ref(), old, new) {
                        return;
                    }
                    [Some(old), Some(new)]
                }
                Event::Recreated { old, new } => [Some(old), Some(new)],
                // The mapping needs an object: the last one that could be read.
                Event::Undecodable { last, .. } => [last.as_ref(), None],
                Event::UndecodableDeleted { .. } => [None, None],
            };
            for object in objects.into_iter().flatten() {
                let what = format_args!("the mapping from {} {}", C::KIND, object.key());
                let keys = hub.guarded(what, || (self.map)(object));
                keys.into_iter()
                    .flatten()
                    .for_each(|key| hub.queue.add(key));
            }
        })
    }
}
