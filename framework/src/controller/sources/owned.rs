use std::sync::Arc;

use super::{
    passes::passes,
    wiring::{Connection, Wiring, informer, listen},
};
use crate::{
    cache::Event,
    controller::{
        Environment, Predicate, Role, Wired,
        hub::Hub,
        owner_map::{References, is_of_another, owners},
        readers::Readers,
    },
    resource::{ApiResource, OwnerReference, Resource},
};

/// A kind whose objects are owned by reconciled ones.
pub(in crate::controller) struct Owned<C> {
    pub(in crate::controller) predicate: Option<Predicate<C>>,
    pub(in crate::controller) references: References,
}

impl<K: Resource, C: Resource> Wiring<K> for Owned<C> {
    fn wired(&self) -> Wired {
        Wired {
            resource: ApiResource::of::<C>(),
            role: Role::Owned,
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
        let which = self.references;
        let add = move |hub: &Hub<K>, child: &C, gone: bool| {
            let references = child.metadata().owner_references.as_deref();
            let references = references.unwrap_or_default();
            add_owners(hub, references, child.namespace(), which, gone);
        };
        listen(environment, &at, move |event| match event {
            Event::Added { object, .. } | Event::Resync { object } => add(&hub, object, false),
            Event::Updated { old, new } => {
                // To an owner this is a coming or a going, which no predicate hides.
                let changed_hands =
                    old.metadata().owner_references != new.metadata().owner_references;
                if changed_hands || passes(&hub, self.predicate.as_ref(), old, new) {
                    add(&hub, new, false);
                }
                if changed_hands {
                    add(&hub, old, true);
                }
            }
            Event::Recreated { old, new } => {
                add(&hub, old, true);
                add(&hub, new, false);
            }
            Event::Deleted { object, .. } => add(&hub, object, true),
            Event::Undecodable { object, last } => {
                let namespace = object.key.namespace();
                add_owners(&hub, &object.owner_references, namespace, which, true);
                if let Some(last) = last {
                    add(&hub, last, true);
                }
            }
            Event::UndecodableDeleted { object } => {
                let namespace = object.key.namespace();
                add_owners(&hub, &object.owner_references, namespace, which, true);
            }
        })
    }
}

/// Adds the owners named by a child's references; `gone` if the child is theirs no longer, which
/// concerns a successor of the owner too: the child may have been in its way.
fn add_owners<K: Resource>(
    hub: &Hub<K>,
    references: &[OwnerReference],
    namespace: Option<&str>,
    which: References,
    gone: bool,
) {
    for (key, uid) in owners::<K>(references, namespace, which) {
        if gone || !is_of_another(&hub.own, &key, uid) {
            hub.queue.add(key);
        }
    }
}
