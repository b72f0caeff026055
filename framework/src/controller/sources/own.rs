use super::{
    Inlet,
    passes::passes,
    wiring::{Connection, Wiring},
};
use crate::{
    cache::Event,
    controller::{Change, Environment, Predicate, Role, Wired, annotations, causes::Cause},
    queue::Priority,
    resource::{ApiResource, Resource},
};

/// The reconciled kind.
pub(in crate::controller) struct Own<K> {
    pub(in crate::controller) predicate: Option<Predicate<K>>,
}

impl<K: Resource> Wiring<K> for Own<K> {
    fn wired(&self) -> Option<Wired> {
        Some(Wired {
            resource: ApiResource::of::<K>(),
            role: Role::Reconciled,
        })
    }

    fn connect(self: Box<Self>, environment: &Environment, inlet: &Inlet<K>) -> Connection {
        let hub = inlet.clone();
        Connection::listening(environment, inlet, move |event: &Event<K>| {
            self.take(&hub, event)
        })
    }
}

impl<K: Resource> Own<K> {
    fn take(&self, hub: &Inlet<K>, event: &Event<K>) {
        let key = event.key();
        let passes = |change| passes(hub, self.predicate.as_ref(), &change);
        let (priority, cause) = match event {
            Event::Added { object, initial } => {
                if !passes(Change::created(object, *initial)) {
                    return;
                }
                match initial {
                    true => (Priority::Low, Cause::Initial),
                    false => (Priority::Normal, Cause::Created),
                }
            }
            Event::Updated { old, new } => match annotations::asked(&**old, new) {
                Some(cause) => (Priority::High, cause),
                None => {
                    let change = Change::updated(&**old, new);
                    // Whatever is kept of the object has to go with it.
                    let goes = matches!(change, Change::DeletionBegan { .. });
                    let counts = passes(change) || goes && hub.states.contains(&key);
                    if !counts || hub.is_echo(old, new) {
                        return;
                    }
                    if let Some(generations) = &hub.generations {
                        generations.changed(&key, &**old, new);
                    }
                    (Priority::Normal, Cause::Updated)
                }
            },
            Event::Resync { object } => {
                if !passes(Change::Resync { object }) {
                    return;
                }
                (Priority::Low, Cause::Resync)
            }
            Event::Recreated { .. } | Event::Deleted { .. } | Event::UndecodableDeleted { .. } => {
                if let Some(generations) = &hub.generations {
                    generations.outdate(&key);
                }
                let cause = match event {
                    Event::Recreated { .. } => Cause::Created,
                    _ => Cause::Deleted,
                };
                (Priority::Normal, cause)
            }
            Event::Undecodable { .. } => (Priority::Normal, Cause::Undecodable),
        };
        hub.ask(key, priority, cause);
    }
}
