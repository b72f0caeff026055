use std::sync::Arc;

use super::{
    Inlet, Kind,
    passes::{passes, priority},
    wiring::{Connection, Wiring},
};
use crate::{
    cache::{Event, Origin},
    controller::{Change, Environment, Predicate, Role, Wired, annotations, causes::Cause},
    queue::Priority,
    resource::Resource,
};

/// The reconciled kind.
pub(in crate::controller) struct Own<K> {
    pub(in crate::controller) predicate: Option<Predicate<K>>,
    /// Those of the controller.
    pub(in crate::controller) finalizers: Vec<Arc<str>>,
}

impl<K: Resource> Wiring<K> for Own<K> {
    fn wired(&self) -> Option<Wired> {
        Kind::<K>::typed().wired(Role::Reconciled)
    }

    fn connect(self: Box<Self>, environment: &Environment, inlet: &Inlet<K>) -> Connection {
        let hub = inlet.clone();
        Kind::typed().listen(environment, inlet, move |event: &Event<K>, origin| {
            self.take(&hub, event, origin)
        })
    }
}

impl<K: Resource> Own<K> {
    fn take(&self, hub: &Inlet<K>, event: &Event<K>, origin: Origin) {
        let key = event.key();
        let mut priority = priority(origin);
        let passes = |change| passes(hub, self.predicate.as_ref(), &change);
        let cause = match event {
            Event::Added { object, initial } => {
                // It may have begun to go while nobody watched.
                if !passes(Change::created(object, *initial)) && !self.holds_back(object) {
                    return;
                }
                match initial {
                    true => Cause::Initial,
                    false => Cause::Created,
                }
            }
            Event::Updated { old, new } => match annotations::asked(&**old, new) {
                Some(cause) => {
                    priority = Priority::High;
                    cause
                }
                None => {
                    let change = Change::updated(&**old, new);
                    // Whatever is kept of the object has to go with it.
                    let goes = matches!(change, Change::DeletionBegan { .. });
                    let ours = hub.states.contains(&key) || self.holds_back(new);
                    let counts = passes(change) || goes && ours;
                    if !counts || hub.is_echo(&key, old.resource_version(), new.resource_version())
                    {
                        return;
                    }
                    if let Some(generations) = &hub.generations {
                        generations.changed(&key, &**old, new);
                    }
                    Cause::Updated
                }
            },
            Event::Resync { object } => {
                if !passes(Change::Resync { object }) {
                    return;
                }
                Cause::Resync
            }
            Event::Recreated { .. } | Event::Deleted { .. } | Event::UndecodableDeleted { .. } => {
                if let Some(generations) = &hub.generations {
                    generations.outdate(&key);
                }
                match event {
                    Event::Recreated { .. } => Cause::Created,
                    _ => Cause::Deleted,
                }
            }
            Event::Undecodable { .. } => Cause::Undecodable,
        };
        hub.ask(key, priority, cause);
    }

    /// Whether the object only stays until we have removed a finalizer: no predicate may swallow that.
    fn holds_back(&self, object: &K) -> bool {
        let present = object.metadata().finalizers.as_deref().unwrap_or_default();
        let ours = |name: &String| self.finalizers.iter().any(|our| **our == **name);
        object.is_deleting() && present.iter().any(ours)
    }
}
